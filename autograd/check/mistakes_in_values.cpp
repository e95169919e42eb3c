// Wrong numbers in the right place: missing, scaled, wrong in part, or without a term.
#include <tapestry/autograd/check/mistake_patterns.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tapestry::checker {
namespace {

// The factor of the right gradient that the claim is. One that is 1 as far as the differences show
// explains nothing: then large elements hide in what small ones are wrong.
std::optional<double> fitted(const Wrong& w) {
    const double size = dot(w.right, w.right);
    if (size == 0) return {};
    const double c = dot(w.claimed, w.right) / size;
    if (!(std::abs(c - 1) * std::sqrt(size) > norm(w.symptoms.doubts))) return {};
    Values model = w.right;
    for (double& value : model) value *= c;
    return explains(w, w.claimed, model) ? std::optional(c) : std::nullopt;
}

// Whether there are at least two numbers that confirm a factor: a single one fits any.
bool shows_a_factor(const Wrong& w, double c) {
    // In a narrow format, small numbers fit any, and three may be multiples of others by chance.
    const double least = (w.is_narrow() ? 2 * w.same : 1e-4) * largest(w.right);
    const auto counts = [least](double value) { return std::abs(value) > least; };
    const std::ptrdiff_t enough = w.is_narrow() ? 4 : 2;
    if (std::count_if(w.right.begin(), w.right.end(), counts) >= enough) return true;
    if (w.symptoms.cotangent.size() < 2 || w.symptoms.other_cotangent.empty()) return false;
    Values other = gradient_for(w.symptoms, w.symptoms.other_cotangent);
    for (double& value : other) value *= c;
    return distance(at_places(w.symptoms.other_claimed, w.symptoms.places), other) < w.same;
}

// 2, n, sqrt(n) and their inverses, for the n that occur in the shapes.
std::optional<std::string> name_of_factor(const Wrong& w, double c) {
    const double size = std::max(std::abs(c), 1 / std::abs(c));
    const bool inverse = std::abs(c) < 1;
    const auto is = [&](double value) { return std::abs(size / value - 1) < w.same; };
    const auto text = [&](const std::string& name, const std::string& what) {
        return fmt::format("{}{}{}{}", c < 0 ? "-" : "", inverse ? "1/" : "", name, what);
    };
    if (is(2)) return text("2", "");
    std::vector<std::pair<std::int64_t, std::string>> counts;
    for (const auto& [shape, whose] :
         {std::pair{w.symptoms.shape, "the operand"}, std::pair{w.symptoms.output, "the output"}}) {
        for (int axis = 0; axis < shape.rank(); ++axis) {
            counts.emplace_back(shape[axis], fmt::format("axis {} of {}", axis, whose));
        }
        counts.emplace_back(numel(shape), fmt::format("all elements of {}", whose));
    }
    for (const auto& [n, whose] : counts) {
        if (n < 2) continue;
        const auto count = static_cast<double>(n);
        if (is(count)) return text(fmt::format("{}", n), fmt::format(" ({})", whose));
        if (is(std::sqrt(count))) {
            return text(fmt::format("sqrt({})", n), fmt::format(" ({})", whose));
        }
    }
    if (is(std::sqrt(2.0))) return text("sqrt(2)", "");
    return {};
}

}  // namespace

Match looks_not_finite(const Wrong& w) {
    const auto bad = std::find_if(w.symptoms.claimed.begin(), w.symptoms.claimed.end(),
                                  [](double value) { return !std::isfinite(value); });
    if (bad == w.symptoms.claimed.end()) return {};
    return Cause{Mistake::not_finite,
                 fmt::format("element {} is {}", bad - w.symptoms.claimed.begin(), *bad),
                 "a division by zero, a logarithm or power at 0, or 0 * inf: treat the edge "
                 "before the formula, not after it"};
}

Match looks_steep_where_flat(const Wrong& w) {
    constexpr double kClearly = 4;
    const double doubt = norm(w.symptoms.doubts);
    const bool flat = std::isfinite(doubt) && norm(w.right) <= kClearly * doubt;
    if (!flat || !(norm(w.claimed) > norm(w.right))) return {};
    return Cause{Mistake::unknown, "numeric is 0 everywhere, as far as can be seen",
                 "f does not depend on this here, or only in steps: a straight-through estimator, "
                 "a clamp or mask whose rule lets everything through"};
}

Match looks_zero(const Wrong& w) {
    if (!(norm(w.claimed) <= 1e-9 * norm(w.right)) || norm(w.right) == 0) return {};
    if (w.symptoms.used_twice) {
        return Cause{
            Mistake::dropped,
            fmt::format("this use of the value claims 0, numeric norm {:.4g}", norm(w.right)),
            "the same value is another operand too: both contributions must be added, "
            "and this one is dropped"};
    }
    return Cause{Mistake::zero,
                 fmt::format("claimed is 0 everywhere, numeric norm {:.4g}", norm(w.right)),
                 "the rule returns nothing for this operand: a missing case, an undefined "
                 "tensor, or an index of needs() that is off"};
}

Match looks_negated(const Wrong& w) {
    Values model = w.right;
    for (double& value : model) value = -value;
    if (!explains(w, w.claimed, model)) return {};
    return Cause{Mistake::sign, "claimed = -numeric, " + closeness(w, model),
                 "a minus sign too many or too few: the second operand of a difference, d(1/x), or "
                 "a loss to be maximised"};
}

Match looks_scaled_by_a_count(const Wrong& w) {
    const auto c = fitted(w);
    if (!c) return {};
    const auto name = name_of_factor(w, *c);
    if (!name) return {};
    const bool count = name->find('(') != std::string::npos;
    Values model = w.right;
    for (double& value : model) value *= *c;
    return Cause{
        Mistake::factor,
        fmt::format("claimed = {} * numeric (fitted {:.10g}), {}", *name, *c, closeness(w, model)),
        count ? "a sum instead of a mean or the reverse, or a scale left out"
              : "d(x^2) is 2x; a half in a loss; a path walked twice"};
}

Match looks_scaled(const Wrong& w) {
    const auto c = fitted(w);
    if (!c || !shows_a_factor(w, *c)) return {};
    Values model = w.right;
    for (double& value : model) value *= *c;
    return Cause{Mistake::factor,
                 fmt::format("claimed = {:.10g} * numeric, {}", *c, closeness(w, model)),
                 "a constant of the op is missing from its rule, or is in it twice"};
}

Match looks_like_a_chain_factor(const Wrong& w) {
    if (!elementwise(w)) return {};
    const Values incoming = at_places(w.symptoms.cotangent, w.symptoms.places);
    if (explains(w, w.claimed, incoming)) {
        return Cause{Mistake::chain, "claimed = the incoming gradient, " + closeness(w, incoming),
                     "the op's own derivative is missing: this is the gradient after the op, "
                     "not before it"};
    }
    Values twice;
    for (std::size_t i = 0; i < incoming.size(); ++i) {
        twice.push_back(incoming[i] != 0 ? w.right[i] * w.right[i] / incoming[i] : 0);
    }
    if (!explains(w, w.claimed, twice)) return {};
    return Cause{Mistake::chain, "claimed = incoming * derivative^2, " + closeness(w, twice),
                 "the op's own derivative is applied twice"};
}

// ---- a missing term -----------------------------------------------------------------------------

namespace {

// numeric - claimed, if all elements are known.
std::optional<Values> missing(const Wrong& w) {
    if (w.symptoms.places.size() != w.symptoms.claimed.size()) return {};
    Values difference = w.right;
    for (std::size_t i = 0; i < w.right.size(); ++i) difference[i] -= w.claimed[i];
    return difference;
}

// The part of `difference` that is c * `pattern`, with one c for each place along all axes except
// `axis`.
Values along(const Wrong& w, const Values& difference, const Values& pattern, int axis) {
    const std::int64_t inner = numel(w.symptoms.shape.sub(axis + 1, w.symptoms.shape.rank()));
    const std::int64_t size = w.symptoms.shape[axis];
    const auto count = static_cast<std::int64_t>(difference.size());
    Values model(difference.size());
    for (std::int64_t first = 0; first < count; ++first) {
        if (first / inner % size != 0) continue;
        double both = 0, squares = 0;
        for (std::int64_t k = 0; k < size; ++k) {
            const auto i = static_cast<std::size_t>(first + k * inner);
            both += difference[i] * pattern[i];
            squares += pattern[i] * pattern[i];
        }
        for (std::int64_t k = 0; k < size && squares > 0; ++k) {
            const auto i = static_cast<std::size_t>(first + k * inner);
            model[i] = both / squares * pattern[i];
        }
    }
    return model;
}

bool follows(const Wrong& w, const Values& difference, const Values& pattern, int axis) {
    const Values model = along(w, difference, pattern, axis);
    return distance(difference, model) < same_difference(w, difference);
}

// Whether nothing of the pattern is left in the claim, along the axis or altogether: then it has
// been subtracted, which may not belong there.
bool lacks(const Wrong& w, const Values& pattern, int axis) {
    constexpr double kNothing = 1e-3;
    const double size = kNothing * norm(w.claimed);
    return std::abs(dot(w.claimed, pattern)) < size * norm(pattern) ||
           norm(along(w, w.claimed, pattern, axis)) < size;
}

Match term_like(const Wrong& w, const Values& pattern, const char* what) {
    const auto difference = missing(w);
    if (!difference || pattern.size() != difference->size()) return {};
    for (int axis = w.symptoms.shape.rank() - 1; axis >= 0; --axis) {
        const auto size = static_cast<std::size_t>(w.symptoms.shape[axis]);
        // Two numbers at least that confirm the factors
        const bool enough = size > 1 && pattern.size() - pattern.size() / size > 1;
        if (!enough || !follows(w, *difference, pattern, axis)) continue;
        if (w.is_narrow() && lacks(w, pattern, axis)) continue;
        return Cause{Mistake::missing_term,
                     fmt::format("claimed - numeric is {} along axis {}", what, axis),
                     fmt::format("a sum or mean along axis {} is not subtracted, as normalising "
                                 "ops must (softmax, layer_norm): every output depends on all "
                                 "elements of it",
                                 axis)};
    }
    return {};
}

}  // namespace

Match lacks_the_direct_way(const Wrong& w) {
    const auto difference = missing(w);
    const Values& g = w.symptoms.cotangent;
    if (!difference || !elementwise(w) || norm(g) == 0) return {};
    const double c = dot(*difference, g) / dot(g, g);
    Values model = g;
    for (double& value : model) value *= c;
    const bool once = std::abs(c - 1) < w.same;
    const bool fits = distance(*difference, model) < same_difference(w, *difference);
    if (!fits || (!once && g.size() < 3)) return {};
    return Cause{Mistake::dropped,
                 fmt::format("numeric - claimed = {}the incoming gradient, {}",
                             once ? "" : fmt::format("{:.6g} * ", c), closeness(w, w.right)),
                 "the value also goes straight through (a residual connection): that use's "
                 "contribution is dropped"};
}

Match lacks_a_constant_term(const Wrong& w) {
    return term_like(w, Values(w.right.size(), 1.0), "constant");
}

Match lacks_an_output_term(const Wrong& w) {
    return elementwise(w) ? term_like(w, w.symptoms.value, "proportional to the output") : Match{};
}

}  // namespace tapestry::checker
