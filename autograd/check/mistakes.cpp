#include <tapestry/autograd/check/mistakes.h>

#include <tapestry/autograd/check/claimed_jacobian.h>
#include <tapestry/autograd/check/compare.h>
#include <tapestry/autograd/check/mistake_patterns.h>
#include <tapestry/autograd/check/noise.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace tapestry::checker {

Values gradient_for(const Symptoms& symptoms, const Values& cotangent) {
    Values gradient;
    for (const Values& slope : symptoms.slopes) gradient.push_back(dot(slope, cotangent));
    return gradient;
}

const ClaimedJacobian* Wrong::jacobian() const {
    if (!symptoms.jacobian && ClaimedJacobian::is_known(symptoms)) {
        symptoms.jacobian = std::make_shared<const ClaimedJacobian>(symptoms, same);
    }
    const ClaimedJacobian* const found = symptoms.jacobian.get();
    return found != nullptr && !found->is_empty() ? found : nullptr;
}

std::string closeness(const Wrong& w, const Values& model) {
    return fmt::format("to {:.1g} of its norm", std::max(distance(w.claimed, model), 1e-16));
}

double same_difference(const Wrong& w, const Values& difference) {
    constexpr double kTimes = 4, kMost = 0.03;
    const double size = norm(difference);
    if (!(size > 0)) return w.same;
    return std::clamp(kTimes * norm(w.symptoms.doubts) / size, std::min(w.same, kMost), kMost);
}

bool is_diagonal(const Wrong& w) {
    if (!elementwise(w)) return false;
    for (std::size_t p = 0; p < w.symptoms.slopes.size(); ++p) {
        const Values& slope = w.symptoms.slopes[p];
        const double own = std::abs(slope[w.symptoms.places[p]]);
        double squares = -own * own;
        for (const double s : slope) squares += s * s;
        if (squares > std::max(1e-6, w.same * w.same) * own * own) return false;
    }
    return true;
}

std::vector<double> numeric_gradient(const Symptoms& symptoms) {
    return gradient_for(symptoms, symptoms.cotangent);
}

namespace {

using Pattern = Match (*)(const Wrong&);

// From the unambiguous patterns to those that need a fit. In a narrow format, elements in which the
// error of a pattern is small look right: "some elements" comes late; but not last, because one
// wrong element is an error of rank 1 as well.
constexpr Pattern kPatterns[] = {looks_steep_where_flat,
                                 looks_zero,
                                 looks_negated,
                                 looks_unsummed,
                                 looks_like_another_operand,
                                 looks_stale,
                                 looks_scaled_by_a_count,
                                 looks_like_a_chain_factor,
                                 looks_scaled,
                                 looks_conjugate,
                                 looks_permuted,
                                 looks_shifted,
                                 looks_flipped,
                                 looks_like_some_samples,
                                 looks_off_in_rows,
                                 looks_like_the_jacobian,
                                 misreads_the_incoming,
                                 looks_unsymmetric,
                                 drops_contributions,
                                 looks_clearly_partly_right,
                                 looks_partly_right,
                                 looks_off_in_outputs,
                                 drops_outputs,
                                 lacks_the_direct_way,
                                 looks_like_a_factor_of_x,
                                 looks_like_other_factors,
                                 has_a_term_too_many,
                                 lacks_a_constant_term,
                                 lacks_an_output_term,
                                 looks_off_by_a_term,
                                 mixes_rows,
                                 ignores_a_mask,
                                 looks_partly_right,
                                 looks_of_rank_one,
                                 reverses_each_output,
                                 runs_the_wrong_way,
                                 arrives_elsewhere,
                                 looks_off_by_few_values,
                                 looks_like_another_formula,
                                 has_a_wrong_sum};

Wrong wrong_of(const Symptoms& symptoms) {
    Wrong w{symptoms, at_places(symptoms.claimed, symptoms.places), numeric_gradient(symptoms)};
    w.off = distance(w.claimed, w.right);
    w.same = std::max(kSame, symptoms.blur);
    return w;
}

// No pattern has an error as large as an element that is 0.
bool claims_nothing_somewhere(const Wrong& w) {
    for (std::size_t i = 0; i < w.claimed.size(); ++i) {
        const double doubt = w.symptoms.doubts.empty() ? 0 : w.symptoms.doubts[i];
        if (w.claimed[i] == 0 && std::abs(w.right[i]) > 8 * doubt) return true;
    }
    return false;
}

// Nor is its error that of a single element.
bool is_off_in_one(const Wrong& w) {
    constexpr double kNearly = 4, kMuchLess = 0.02;
    double most = 0;
    for (std::size_t i = 0; i < w.claimed.size(); ++i) {
        most = std::max(most, std::abs(w.claimed[i] - w.right[i]));
    }
    int off = 0;
    for (std::size_t i = 0; i < w.claimed.size(); ++i) {
        const double doubt = w.symptoms.doubts.empty() ? 0 : w.symptoms.doubts[i];
        off += std::abs(w.claimed[i] - w.right[i]) > std::max(kNearly * doubt, kMuchLess * most);
    }
    return off == 1 && w.claimed.size() > 2;
}

// Whether the claim is right as a whole, as far as the differences show: what is wrong are elements
// so small that the doubt of large ones hides them, which a pattern of all would fit instead.
bool is_right_as_a_whole(const Wrong& w) {
    Values difference = w.claimed;
    for (std::size_t i = 0; i < difference.size(); ++i) difference[i] -= w.right[i];
    return norm(difference) <= norm(w.symptoms.doubts);
}

// The part of the right gradient that its doubts leave open.
double blur_of(const Symptoms& symptoms) {
    constexpr double kTimes = 4, kMost = 0.1;
    const double size = norm(numeric_gradient(symptoms));
    return size > 0 ? std::min(kMost, kTimes * norm(symptoms.doubts) / size) : 0;
}

// The same operand's gradient for the other incoming gradient; nullopt if that says nothing more.
std::optional<Symptoms> other_way(const Symptoms& symptoms) {
    const bool known = !symptoms.other_cotangent.empty() && !symptoms.other_claimed.empty();
    if (!known || symptoms.cotangent.size() < 2 || !symptoms.others.empty()) return {};
    Symptoms other = symptoms;
    std::swap(other.cotangent, other.other_cotangent);
    std::swap(other.claimed, other.other_claimed);
    const double before = norm(symptoms.cotangent), after = norm(other.cotangent);
    other.jacobian.reset();  // it refers to its symptoms
    for (double& doubt : other.doubts) doubt *= before > 0 ? after / before : 1;
    other.blur = 2 * std::max(symptoms.blur, blur_of(other));  // it need not be as close again
    return other;
}

// What a format leaves open may fit a few numbers by accident, but not for two incoming gradients.
// (A rule that keeps something answers the two in different ways, and a wrong element need not show
// for both.)
bool is_confirmed(const Cause& cause, Pattern pattern, const std::optional<Symptoms>& other) {
    constexpr Mistake kOfOne[] = {Mistake::stale, Mistake::not_finite, Mistake::partial};
    const bool of_one =
        std::find(std::begin(kOfOne), std::end(kOfOne), cause.mistake) != std::end(kOfOne);
    if (!other || of_one) return true;
    const Match again = pattern(wrong_of(*other));
    return again && again->mistake == cause.mistake;
}

}  // namespace

Cause find_cause(const Symptoms& symptoms) {
    const Wrong w = wrong_of(symptoms);
    if (const Match cause = looks_not_finite(w)) return *cause;
    if (w.right.empty()) {
        return {Mistake::unknown, "f is not finite, or not known, at every step tried next to x",
                "check at numbers that are farther from the end of f's domain"};
    }
    const bool narrow = w.is_narrow();
    if (!narrow && is_right_as_a_whole(w)) {
        if (const Match cause = looks_partly_right(w)) return *cause;
        return {Mistake::unknown,
                "claimed and numeric are equal but for elements that large ones hide",
                "look at the place: its own numbers differ"};
    }
    const auto other = narrow ? other_way(symptoms) : std::nullopt;
    bool too_early = narrow && !claims_nothing_somewhere(w) && !is_off_in_one(w);
    for (const Pattern pattern : kPatterns) {
        if (too_early && pattern == looks_clearly_partly_right) continue;
        if (pattern == looks_partly_right && std::exchange(too_early, false)) continue;
        const Match cause = pattern(w);
        if (cause && is_confirmed(*cause, pattern, other)) return *cause;
    }
    const double size = norm(w.claimed) * norm(w.right);
    return {
        Mistake::unknown,
        fmt::format("correlation of claimed and numeric gradient {:.3f}, norms {:.4g} and "
                    "{:.4g}",
                    size > 0 ? dot(w.claimed, w.right) / size : 0, norm(w.claimed), norm(w.right)),
        "no common mistake looks like this; derive the rule again for one element"};
}

// ---- the right gradient -------------------------------------------------------------------------

namespace {

// The slopes of all outputs along a line, accurate enough to tell mistakes apart.
Values slopes_along(Line& line, std::uint64_t branch, Values& doubts) {
    constexpr double kWorthRounding = 32 * std::numeric_limits<double>::epsilon();
    // The relative change of a difference when its step is halved, or by the rounding of a sum.
    const auto change = [&](double h) {
        if (line.at(h).branch != branch || line.at(-h).branch != branch) return HUGE_VAL;
        const Values &a = line.at(h).values, &b = line.at(-h).values;
        const Values &c = line.at(h / 2).values, &d = line.at(-h / 2).values;
        double apart = 0, size = 0, worth = 0;
        for (std::size_t i = 0; i < a.size(); ++i) {
            const double coarse = a[i] - b[i], fine = 2 * (c[i] - d[i]);
            apart += (coarse - fine) * (coarse - fine);
            size += fine * fine;
            worth += a[i] * a[i];
        }
        if (!std::isfinite(apart + size)) return HUGE_VAL;  // beyond the domain
        return apart > 0 || size > 0
                   ? std::sqrt(std::max(apart, kWorthRounding * kWorthRounding * worth) / size)
                   : 0;
    };
    constexpr double kSettled = 1e-3, kGood = 3e-8, kSeen = 0.5;
    double h = std::ldexp(line.scale(), -13), changed = change(h);
    // If most of the change is rounding, a larger step contains less of it; and a value that does
    // not change at all may have been lost in it.
    if (const double larger = std::ldexp(line.scale(), -7); changed > kGood || changed == 0) {
        const double there = change(larger);
        if (there * there < changed || (changed == 0 && there < kSeen)) {
            h = larger;
            changed = there;
        }
    }
    for (int i = 1; i <= 4 && !(changed <= kSettled); ++i) {
        const double smaller = std::ldexp(line.scale(), -13 - 5 * i), there = change(smaller);
        if (there < changed && (there > 0 || changed == HUGE_VAL)) {
            h = smaller;
            changed = there;
        }
    }
    Values slopes;
    for (std::size_t i = 0; i < line.at(h).values.size(); ++i) {
        const auto slope = [&](double t) {
            return (line.at(t).values[i] - line.at(-t).values[i]) / (2 * t);
        };
        const double coarse = slope(h), fine = slope(h / 2);
        slopes.push_back((4 * fine - coarse) / 3);
        const double rounding = kWorthRounding * std::abs(line.at(h).values[i]);
        doubts.push_back(std::abs(slopes.back() - fine) / 4 + rounding / h);
    }
    return slopes;
}

// The same for numbers of a narrow format, where quotients of two values only see its rounding:
// fits to several.
Values fitted_along(Line& line, const Sample& base, Format format, Values& doubts) {
    for (const int power : {-1, -3, -5}) {
        const auto fits = fitted_slopes_of_outputs(line, std::ldexp(line.scale(), power), format);
        if (fits.empty()) continue;
        Values slopes;
        for (const Attempt& fit : fits) {
            slopes.push_back(fit.value);
            doubts.push_back(fit.error);
        }
        return slopes;
    }
    doubts.assign(base.values.size(), HUGE_VAL);  // nothing is known of them
    return Values(base.values.size(), 0.0);
}

// A place where f leaves its domain within every step shows nothing of the mistake.
void keep_known_places(Symptoms& symptoms) {
    const bool has_each = !symptoms.slope_doubts.empty();
    std::size_t kept = 0;
    for (std::size_t p = 0; p < symptoms.places.size(); ++p) {
        if (!std::isfinite(symptoms.doubts[p]) || !is_finite(symptoms.slopes[p])) continue;
        if (kept < p) {
            symptoms.places[kept] = symptoms.places[p];
            symptoms.slopes[kept] = std::move(symptoms.slopes[p]);
            symptoms.doubts[kept] = symptoms.doubts[p];
            if (has_each) symptoms.slope_doubts[kept] = std::move(symptoms.slope_doubts[p]);
        }
        ++kept;
    }
    symptoms.places.resize(kept);
    symptoms.slopes.resize(kept);
    symptoms.doubts.resize(kept);
    if (has_each) symptoms.slope_doubts.resize(kept);
}

}  // namespace

std::vector<std::size_t> chosen_places(std::size_t n, std::size_t outputs,
                                       std::size_t of_interest) {
    constexpr std::size_t kAll = 256, kLarge = 4096, kNumbers = 20'000'000;
    constexpr std::size_t kMany = 384, kFew = 16, kFewest = 8;
    std::vector<std::size_t> places;
    const std::size_t held = kNumbers / std::max<std::size_t>(outputs, 1);
    const std::size_t most = std::clamp(held, kFewest, n <= kLarge ? kMany : kFew);
    if (n <= std::min(kAll, most)) {
        for (std::size_t i = 0; i < n; ++i) places.push_back(i);
        return places;
    }
    // Both ends, for mistakes at borders; the rest at irregular distances, for mistakes in every
    // row.
    const std::size_t ends = most / 6, between = most - 2 * ends - 3;
    for (std::size_t i = 0; i < ends; ++i) {
        places.push_back(i);
        places.push_back(n - 1 - i);
    }
    for (std::size_t i = 0; i < between; ++i) {
        const auto golden = std::fmod(static_cast<double>(i + 1) * 0.6180339887498949, 1.0);
        places.push_back(static_cast<std::size_t>(golden * static_cast<double>(n)));
    }
    for (const std::size_t i : {of_interest - 1, of_interest, of_interest + 1}) {
        if (i < n) places.push_back(i);
    }
    std::sort(places.begin(), places.end());
    places.erase(std::unique(places.begin(), places.end()), places.end());
    return places;
}

void measure_slopes(Subject& subject, std::size_t which, Format format, Symptoms& symptoms) {
    symptoms.point = subject.leaves()[which].second.to_vector<double>();
    const Values& x = symptoms.point;
    constexpr std::size_t kMostOutputs = 256;  // whose doubts are kept
    // The rule rounds its incoming gradient.
    const double rounding = format == Format::f64 ? 0 : epsilon(format) / 2;
    const double typical = typical_size(x);
    const Sample base = subject.run();
    symptoms.value = base.values;
    for (const std::size_t place : symptoms.places) {
        Values u(x.size(), 0.0), doubts;
        u[place] = 1;
        Line line = subject.along(which, std::move(u), std::max(std::abs(x[place]), typical));
        line.stay_in(format, x[place]);
        symptoms.slopes.push_back(format == Format::f64 ? slopes_along(line, base.branch, doubts)
                                                        : fitted_along(line, base, format, doubts));
        double squares = 0;
        for (std::size_t i = 0; i < symptoms.cotangent.size(); ++i) {
            squares += std::pow(symptoms.cotangent[i] * doubts[i], 2);
            squares += std::pow(rounding * symptoms.cotangent[i] * symptoms.slopes.back()[i], 2);
        }
        symptoms.doubts.push_back(std::sqrt(squares));
        if (doubts.size() <= kMostOutputs) symptoms.slope_doubts.push_back(std::move(doubts));
    }
    keep_known_places(symptoms);
    if (format != Format::f64) symptoms.blur = blur_of(symptoms);
}

}  // namespace tapestry::checker
