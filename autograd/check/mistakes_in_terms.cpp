// A term too few or too many, or a factor of the chain: what the claim is off by, or off by a
// factor of, follows x, the output or a constant.
//
// An inner number held constant (a norm, a mean, a threshold t) leaves out g^T dy/dt dt/dx: an
// error along dt/dx for any incoming gradient.
#include <tapestry/autograd/check/mistake_patterns.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tapestry::checker {
namespace {

constexpr std::ptrdiff_t kTellingInFormat = 5;

// Numbers that count next to the largest, of at least two sizes: a constant shows no pattern of x.
bool varies(const Values& values) {
    const double most = largest(values);
    const auto close = [&](double value) {
        return std::abs(std::abs(value) - most) <= 1e-3 * most;
    };
    return values.size() >= kTelling && !std::all_of(values.begin(), values.end(), close);
}

std::size_t significant(const Values& values) {
    const double most = largest(values);
    return static_cast<std::size_t>(
        std::count_if(values.begin(), values.end(),
                      [most](double value) { return std::abs(value) > 1e-4 * most; }));
}

// Whether enough numbers are off to tell a pattern; in a narrow format, clearly beyond its
// rounding.
bool is_telling(const Wrong& w, const Values& difference) {
    if (!w.is_narrow()) return significant(difference) >= kTelling;
    const double least = 0.1 * largest(difference);
    return std::count_if(difference.begin(), difference.end(), [least](double value) {
               return std::abs(value) > least;
           }) >= kTellingInFormat;
}

// The places with the same indices on all axes but one, as groups of numbers of places; or all
// places together.
struct Group {
    std::vector<std::vector<std::size_t>> members;  // indices into symptoms.places
    std::string name;
};

std::vector<Group> groups_of(const Wrong& w) {
    std::vector<std::size_t> all(w.right.size());
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
    std::vector<Group> groups{{{all}, ""}};
    const Shape& shape = w.symptoms.shape;
    if (!w.knows_all()) return groups;
    for (int axis = shape.rank() - 1; axis >= 0 && shape.rank() > 1; --axis) {
        if (shape[axis] < 2) continue;
        const std::int64_t inner = numel(shape.sub(axis + 1, shape.rank()));
        const auto count = static_cast<std::int64_t>(all.size()) / shape[axis];
        Group group{std::vector<std::vector<std::size_t>>(static_cast<std::size_t>(count)),
                    fmt::format(" along axis {}", axis)};
        for (std::int64_t i = 0; i < static_cast<std::int64_t>(all.size()); ++i) {
            const std::int64_t row = i / (inner * shape[axis]) * inner + i % inner;
            group.members[static_cast<std::size_t>(row)].push_back(static_cast<std::size_t>(i));
        }
        groups.push_back(std::move(group));
    }
    return groups;
}

// The part of `values` that follows the patterns, with its own factors in each group: least squares
// by Gram and Schmidt.
Values projected(const Values& values, const std::vector<Values>& patterns, const Group& group) {
    Values model(values.size(), 0.0);
    for (const auto& members : group.members) {
        Values rest = at_places(values, members);
        std::vector<Values> basis;
        for (const Values& pattern : patterns) {
            Values one = at_places(pattern, members);
            const double before = norm(one);
            for (const Values& other : basis) {
                const double share = dot(one, other);
                for (std::size_t i = 0; i < one.size(); ++i) one[i] -= share * other[i];
            }
            const double size = norm(one);
            if (!(size > 1e-6 * before)) continue;
            for (double& value : one) value /= size;
            basis.push_back(std::move(one));
        }
        for (const Values& one : basis) {
            const double share = dot(rest, one);
            for (std::size_t i = 0; i < members.size(); ++i) model[members[i]] += share * one[i];
        }
    }
    return model;
}

Values difference_of(const Wrong& w) {
    Values difference = w.claimed;
    for (std::size_t i = 0; i < difference.size(); ++i) difference[i] -= w.right[i];
    return difference;
}

struct PossibleTerm {
    std::vector<Values> patterns;
    std::string name;
    bool of_x = false;  // as the slope of a norm
};

std::vector<PossibleTerm> terms_of(const Wrong& w) {
    const Values ones(w.right.size(), 1.0);
    std::vector<PossibleTerm> terms{{{ones}, "constant", false}};
    Values x, y;
    if (!w.symptoms.point.empty()) x = at_places(w.symptoms.point, w.symptoms.places);
    if (elementwise(w) && !w.symptoms.value.empty()) {
        y = at_places(w.symptoms.value, w.symptoms.places);
    }
    if (varies(x)) terms.push_back({{x}, "proportional to x", true});
    if (varies(y)) terms.push_back({{y}, "proportional to the output", true});
    if (varies(y)) terms.push_back({{ones, y}, "a constant and a multiple of the output", false});
    if (varies(x)) terms.push_back({{ones, x}, "a constant and a multiple of x", false});
    return terms;
}

// A rule that subtracts a projection gives a gradient without that part.
Cause term_cause(const Wrong& w, const PossibleTerm& term, const Group& group,
                 const Values& model) {
    constexpr double kNothing = 1e-4;
    const auto lacks = [&](const Values& gradient) {
        return norm(projected(gradient, term.patterns, group)) <= kNothing * norm(gradient);
    };
    const std::string evidence =
        fmt::format("claimed - numeric is {}{}, to {:.1g} of its norm", term.name, group.name,
                    std::max(distance(difference_of(w), model), 1e-16));
    const bool subtracted = lacks(w.claimed) && !lacks(w.right);
    if (subtracted || is_diagonal(w)) {
        return {Mistake::extra_term,
                evidence + (subtracted ? ", and nothing of the claim is"
                                       : ", where each output depends on its own element alone"),
                "a mean or projection is subtracted that does not belong there: training's rule "
                "in evaluation, or a normalising op's rule for one whose statistics are constants"};
    }
    if (term.of_x) {
        return {Mistake::held, evidence,
                "a norm, radius, scale or threshold computed from x is taken for a constant, or "
                "weight decay is in the one and not in the other"};
    }
    return {Mistake::missing_term, evidence,
            "a sum or mean over the elements is left out: every output depends on all of them"};
}

// In a narrow format: a claim without a mean, where the right gradient has one, has had it
// subtracted, whatever the error also follows.
bool has_lost_its_mean(const Wrong& w) {
    constexpr double kNothing = 1e-3, kClearly = 4;
    const Values ones(w.right.size(), 1.0);
    const auto mean = [&ones](const Values& values) {
        return std::abs(dot(values, ones)) / (norm(values) * norm(ones));
    };
    return w.is_narrow() && mean(w.claimed) < kNothing && mean(w.right) > kClearly * w.same;
}

// `only_extra`: nothing unless the claim lacks what the right gradient has.
Match term_off(const Wrong& w, bool only_extra) {
    const Values difference = difference_of(w);
    if (significant(difference) < kTelling || (!only_extra && !is_telling(w, difference)))
        return {};
    for (const Group& group : groups_of(w)) {
        for (const PossibleTerm& term : terms_of(w)) {
            // One number that confirms each group's factors, and at least two altogether
            const std::size_t free = w.right.size() - term.patterns.size() * group.members.size();
            const bool enough = std::all_of(
                group.members.begin(), group.members.end(),
                [&](const auto& members) { return members.size() > term.patterns.size(); });
            if (!enough || free < 2) continue;
            const Values model = projected(difference, term.patterns, group);
            if (!(distance(difference, model) < same_difference(w, difference))) continue;
            Cause cause = term_cause(w, term, group, model);
            if (!only_extra || cause.mistake == Mistake::extra_term) return cause;
        }
    }
    return {};
}

}  // namespace

Match looks_off_by_a_term(const Wrong& w) {
    return has_lost_its_mean(w) ? Match{} : term_off(w, false);
}
Match has_a_term_too_many(const Wrong& w) { return term_off(w, true); }

Match looks_like_a_factor_of_x(const Wrong& w) {
    if (w.symptoms.point.empty() || significant(w.right) < kTelling) return {};
    const Values x = at_places(w.symptoms.point, w.symptoms.places);
    if (!varies(x)) return {};
    const auto match = [&](const char* name, double (*factor)(double), bool any_multiple) -> Match {
        Values model;
        for (std::size_t i = 0; i < x.size(); ++i) model.push_back(w.right[i] * factor(x[i]));
        if (!std::isfinite(norm(model)) || norm(model) == 0) return {};
        // In other units x is a multiple of the formula's.
        const double c = any_multiple ? dot(w.claimed, model) / dot(model, model) : 1;
        for (double& value : model) value *= c;
        if (!explains(w, w.claimed, model)) return {};
        return Cause{
            Mistake::chain,
            fmt::format("claimed = {}{} * numeric, {}",
                        any_multiple ? fmt::format("{:.6g} * ", c) : "", name, closeness(w, model)),
            "a factor of the chain is left out, or is there twice"};
    };
    if (auto cause = match(
            "x", [](double a) { return a; }, true))
        return cause;
    if (auto cause = match(
            "1/x", [](double a) { return 1 / a; }, true))
        return cause;
    if (auto cause = match(
            "exp x", [](double a) { return std::exp(a); }, false))
        return cause;
    return match(
        "exp -x", [](double a) { return std::exp(-a); }, false);
}

Match looks_of_rank_one(const Wrong& w) {
    const Symptoms& s = w.symptoms;
    if (s.cotangent.size() < kTelling || w.right.size() < kTelling) return {};
    if (s.other_cotangent.empty() || s.other_claimed.empty() || has_lost_its_mean(w)) return {};
    const Values right = gradient_for(s, s.other_cotangent);
    Values one = difference_of(w), other = at_places(s.other_claimed, s.places);
    for (std::size_t i = 0; i < other.size(); ++i) other[i] -= right[i];
    const double a = norm(one), b = norm(other);
    if (!(a > 0 && b > 0) || !is_telling(w, one)) return {};
    const double sign = dot(one, other) < 0 ? -1 : 1;
    for (double& value : one) value /= a;
    for (double& value : other) value *= sign / b;
    Values first = w.right, second = right;
    for (double& value : first) value /= norm(w.right);
    for (double& value : second) value /= norm(right);
    // Gradients that are parallel themselves have parallel errors.
    const double parallel = std::abs(dot(first, second));
    const double allowed = 2 * same_difference(w, difference_of(w));
    if (!(distance(one, other) <= allowed && parallel <= 0.99)) return {};
    return Cause{
        Mistake::held,
        fmt::format("claimed - numeric has the same direction for two incoming gradients, "
                    "to {:.1g}: an error of rank 1",
                    std::max(distance(one, other), 1e-16)),
        "an inner number that depends on x (a norm, mean, maximum, threshold or radius) is "
        "taken for a constant"};
}

}  // namespace tapestry::checker
