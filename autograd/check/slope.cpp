#include <tapestry/autograd/check/slope.h>

#include <tapestry/autograd/check/noise.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

namespace tapestry::checker {
namespace {

// Selects the steps and their order: few if the case is clear, more if it is not.
class SlopeEstimator {
public:
    SlopeEstimator(Line& line, const std::vector<double>& weights, const Neighbourhood& around,
                   const Claim& claim, const GradcheckLimits& limits, bool one_number,
                   double least_noise = 0)
        : quotients_(line, weights, around, claim.here),
          evidence_(quotients_, claim, limits),
          claim_(claim),
          line_(line),
          scale_(line.scale()),
          one_number_(one_number),
          is_exact_(limits.lost_may_pass),
          resolution_(limits.resolution) {
        quotients_.set_least_noise(least_noise);
    }

    double noise_here() const { return quotients_.noise_here(); }
    bool is_hopeless() const { return is_hopeless_; }
    bool supports_claim() const { return evidence_.supports_claim(); }
    /// Whether rounding is the only reason for not knowing more.
    bool only_rounds_here() const { return only_rounds_ && !evidence_.is_doubted(); }

    Judgement run() {
        if (!quotients_.is_finite_here()) return Evidence::no_number();
        if (claim_.usual_step > 0) {
            const Attempt usual = quotients_.central(claim_.usual_step);
            if (const auto done = evidence_.consider(usual)) return *done;
            const bool was_noise = usual.step >= largest_step() / 4 && !claim_.is_lost;
            if (was_noise && usual.obstacle == Reason::none) {
                only_rounds_ = claim_.by_class;
                if (const auto done = in_noise()) return *done;
            }
        }
        const Attempt first = quotients_.central(std::ldexp(scale_, -7));
        if (const auto done = evidence_.consider(first)) return *done;
        if (claim_.evened && !evidence_.speaks_against(first)) return evidence_.undecided();
        if (claim_.is_lost && !evidence_.is_doubted()) {
            // Only a clear error matters, and where rounding hides so much no smaller step shows
            // one.
            const bool is_known = claim_.usual_step >= largest_step();
            if (is_known) return evidence_.undecided();
            const Attempt largest = quotients_.central(largest_step());
            if (const auto done = evidence_.consider(largest)) return *done;
            if (!evidence_.is_doubted()) return evidence_.undecided();
        }
        const Attempt second = quotients_.central(std::ldexp(scale_, -13));
        if (const auto done = evidence_.consider(second)) return *done;
        if (!std::isfinite(claim_.slope)) {
            if (const auto done = evidence_.refutes_infinite(first, second)) return *done;
        }
        const bool at_corner =
            !quotients_.met_kink() && quotients_.is_corner(claim_.slope, claim_.scale);
        if (!quotients_.met_kink() && !at_corner && evidence_.plainly_refuted(first, second)) {
            return evidence_.judgement(first, Verdict::fail, Reason::none);
        }
        if (claim_.evened) {  // only a second check, for clear errors
            return evidence_.undecided();
        }
        // What grows with smaller steps is rounding, not truncation.
        const bool is_noise = first.obstacle == Reason::none && second.obstacle == Reason::none &&
                              second.error > 8 * first.error;
        if (is_noise && claim_.by_class) {
            only_rounds_ = true;
            if (const auto done = in_noise()) return *done;
            // Smaller steps add rounding, larger ones leave the neighbourhood.
            if (!evidence_.is_doubted()) return evidence_.undecided();
        }
        return all_steps(first, at_corner);
    }

    // For numbers rounded to a narrow format, where quotients of two values show nothing.
    Judgement run_in_format(Format format) {
        if (!quotients_.is_finite_here()) return Evidence::no_number();
        // Most right claims need a tenth of the values.
        for (const int power : {-1, -3}) {
            const auto quick = quickly_fitted_slope(line_, quotients_.weights(),
                                                    std::ldexp(scale_, power), format);
            if (!quick) continue;
            const Judgement j = evidence_.by_fit({*quick});
            if (j.verdict == Verdict::pass) return j;
            break;
        }
        const auto fits = fitted_slopes(line_, quotients_.weights(), format);
        return fits.empty() ? Evidence::no_number() : evidence_.by_fit(fits);
    }

    // A claim that could not be checked sharply may be right as far as can be seen.
    Judgement settled_for_less(const Judgement& j) {
        if (j.verdict != Verdict::inconclusive || j.reason == Reason::kink || claim_.evened)
            return j;
        if (const auto done = evidence_.agreement(false)) return *done;
        if (is_hopeless_) return j;
        // As in_noise(), from more values. Smaller steps would only add noise.
        const auto is_enough = [this](const Attempt& fit) {
            if (!only_rounds_here()) return false;
            const bool is_noise = 2 * fit.noise > fit.error && !evidence_.fit_is_clear(fit);
            return is_noise || evidence_.by_fit({fit}).verdict == Verdict::pass;
        };
        const auto fits = fitted_slopes(line_, quotients_.weights(), Format::f64, is_enough);
        if (fits.empty()) return j;
        const Judgement fitted = evidence_.by_fit(fits);
        return fitted.verdict == Verdict::inconclusive ? j : fitted;
    }

    // Where f is constant, its slope is 0; but so it looks where f cancels or underflows, and
    // rounds more coarsely than x moves. They differ if f moves at all, with steps (of size
    // `grain`) so fine that the claimed slope would show. `grain` is negative if f moves nowhere:
    // that proves nothing for a plain function, but an op of a tape is exact. However f rounds, a
    // claim of infinity or NaN is wrong where f is a number.
    Judgement doubted_where_constant(Judgement j, double grain) {
        constexpr double kClearly = 32;
        if (j.verdict == Verdict::pass || claim_.slope == 0) return j;
        if (!std::isfinite(claim_.slope) && all_finite_here()) return j;
        const double step = quotients_.constant_step();
        if (step == 0) return j;
        const double finest = std::max(grain, noise_here());
        const bool moves = grain >= 0 || is_exact_;
        if (moves && std::abs(claim_.slope) * step > kClearly * finest) return j;
        j.constant = true;
        if (j.verdict == Verdict::fail) {
            j.verdict = Verdict::inconclusive;
            j.reason = Reason::roundoff;
        }
        return j;
    }

private:
    double largest_step() const { return std::ldexp(scale_, -1); }

    bool all_finite_here() const {
        const auto& base = quotients_.around().base.values;
        return std::all_of(base.begin(), base.end(), [](double y) { return std::isfinite(y); });
    }

    // Where rounding is the only error: the largest step, or a fit to values up to it. Sums of very
    // many terms round more coarsely than their last bit shows: quotients may not settle.
    std::optional<Judgement> in_noise() {
        if (const auto done = evidence_.consider(quotients_.central(largest_step()))) return done;
        if (evidence_.is_doubted()) return {};
        double best = evidence_.undecided().resolution;
        std::array steps{largest_step(), largest_step() / 4};
        if (claim_.usual_step > 0 && claim_.usual_step <= steps[1]) std::swap(steps[0], steps[1]);
        for (const double step : steps) {
            const auto fit = quickly_fitted_slope(line_, quotients_.weights(), step);
            if (!fit) continue;
            const Judgement fitted = evidence_.by_fit({*fit});
            if (fitted.verdict == Verdict::pass) return fitted;
            best = std::min(best, fitted.resolution);
        }
        // A fit to 128 values is about ten times as accurate as one to 24.
        constexpr double kMuchBetter = 16;
        is_hopeless_ = claim_.by_class && best > kMuchBetter * resolution_;
        return {};
    }

    Judgement all_steps(const Attempt& first, bool at_corner) {
        const bool too_small = first.obstacle == Reason::none && first.noise > 0.5 * first.error;
        const std::array<int, 5> down{-19, -25, -31, -37, -43};
        const std::array<int, 5> up{-1, 5, 11, 17, 23};
        if (const auto done = too_small ? try_steps(up) : try_steps(down)) return *done;
        if (const auto done = too_small ? try_steps(down) : try_steps(up)) return *done;
        const bool on_corner =
            at_corner && !quotients_.is_beside_corner(claim_.slope, claim_.scale);
        if (quotients_.met_kink() || on_corner || quotients_.only_side() != 0) {
            if (const auto done = from_one_side()) return *done;
        }
        if (const auto done = evidence_.refutation()) return *done;
        if (const auto done = evidence_.agreement(true)) return *done;
        if (const auto done = try_steps(std::array<int, 6>{-10, -16, -22, -28, 2, 8})) return *done;
        if (const auto done = try_steps(std::array<int, 2>{14, 20})) return *done;
        if (const auto done = evidence_.agreement(true)) return *done;
        return evidence_.undecided();
    }

    template <std::size_t N>
    std::optional<Judgement> try_steps(const std::array<int, N>& powers) {
        for (const int power : powers) {
            const Attempt attempt = quotients_.central(std::ldexp(scale_, power));
            if (const auto done = evidence_.consider(attempt)) return done;
            const bool beyond =
                attempt.obstacle == Reason::not_finite || attempt.obstacle == Reason::bounds;
            if (beyond && power > -7) break;  // larger steps leave the domain too
        }
        return {};
    }

    // On a kink the gradient may be anything between the slopes to both sides. Close to one, it is
    // the slope of the side that x itself is on. At a bound there is only one side.
    std::optional<Judgement> from_one_side() {
        if (const double side = quotients_.only_side(); side != 0) {
            return from_the_only(quotients_.one_sided(side));
        }
        std::optional<Attempt> right = quotients_.one_sided(1);
        std::optional<Attempt> left = quotients_.one_sided(-1);
        const bool on_right = right && quotients_.takes_own_branches(right->step);
        const bool on_left = left && quotients_.takes_own_branches(-left->step);
        if (on_right && !on_left) left = right;
        if (on_left && !on_right) right = left;
        if (!left || !right) return {};
        if (!on_left && !on_right && !one_number_) {
            return evidence_.judgement(*left, Verdict::inconclusive, Reason::kink);
        }
        return evidence_.between(*left, *right);
    }

    // If x is on a bound. A function that is constant over a small step is not evidence.
    std::optional<Judgement> from_the_only(const std::optional<Attempt>& side) const {
        if (!side) return {};
        const bool counts = side->moved || side->step >= std::ldexp(scale_, -7);
        const auto done = evidence_.between(*side, *side);
        if (done && (counts || done->verdict == Verdict::pass)) return done;
        const bool rounding = side->noise > 0.5 * side->error;
        return evidence_.judgement(*side, Verdict::inconclusive,
                                   rounding ? Reason::roundoff : Reason::truncation);
    }

    Quotients quotients_;
    Evidence evidence_;
    Claim claim_;
    Line& line_;
    double scale_;
    bool one_number_;
    bool is_exact_;             // an op of a tape
    double resolution_;         // that a pass must have
    bool only_rounds_ = false;  // along a class: smaller steps only add rounding
    bool is_hopeless_ = false;  // and so much that no more values would show enough
};

// A pass that resolves a slope to more than a few digits needs no closer look at the noise; a pass
// close to rounding must know it to state its resolution.
Judgement judged_slope(Line& line, const std::vector<double>& weights, const Neighbourhood& around,
                       const Claim& claim, const GradcheckLimits& limits, bool one_number,
                       const HiddenNoise& hidden) {
    constexpr double kFine = 1e-5;
    SlopeEstimator estimator(line, weights, around, claim, limits, one_number, claim.noise);
    if (limits.format != Format::f64) return estimator.run_in_format(limits.format);
    const Judgement first = estimator.run();
    const bool passed = first.verdict == Verdict::pass;
    if (passed && (first.resolution <= kFine || limits.lost_may_pass)) return first;
    if (first.reason == Reason::not_finite) return first;
    if (claim.evened && first.verdict != Verdict::fail) return first;
    if (claim.is_lost && first.verdict == Verdict::inconclusive && !first.doubted) return first;
    if (estimator.is_hopeless() && !first.doubted) return first;
    constexpr double kMuchMore = 8, kClose = 1e-2;
    const double larger = std::max(std::abs(claim.slope), std::abs(first.numeric));
    const bool is_close = std::abs(claim.slope - first.numeric) < kClose * larger;
    // Between two of its jumps a function that rounds coarsely may have any slope.
    const bool quiet = passed || estimator.only_rounds_here();  // jumps would be one reason more
    const Jumps jumps = quiet                  ? Jumps::none
                        : is_close             ? Jumps::anywhere
                        : limits.lost_may_pass ? Jumps::none
                                               : Jumps::everywhere;
    const double noise = hidden ? hidden(jumps) : 0;
    if (noise <= (passed ? 1 : kMuchMore) * estimator.noise_here()) {
        return passed ? first
                      : estimator.doubted_where_constant(estimator.settled_for_less(first), noise);
    }
    SlopeEstimator informed(line, weights, around, claim, limits, one_number,
                            std::max(noise, claim.noise));
    const Judgement known = informed.run(), again = informed.settled_for_less(known);
    // Noise may hide the steps that spoke for the claim. If none did, and it is no jump, it
    // explains what looked like a contradiction between those against it.
    constexpr double kFew = 8, kClear = 1e-4;
    const bool refuted = known.verdict == Verdict::fail && !estimator.supports_claim() &&
                         std::abs(claim.slope - known.numeric) > kClear * larger &&
                         noise <= kFew * hidden(Jumps::none);
    const bool counts = passed || refuted || again.verdict <= first.verdict;
    return informed.doubted_where_constant(counts ? again : first, noise);
}

}  // namespace

Judgement check_slope(Line& line, const std::vector<double>& weights, const Neighbourhood& around,
                      const Claim& claim, const GradcheckLimits& limits, bool one_number,
                      const HiddenNoise& hidden) {
    Judgement j = judged_slope(line, weights, around, claim, limits, one_number, hidden);
    const bool opaque = !limits.lost_may_pass;  // an op's noise is what it is
    if (j.verdict != Verdict::fail || !opaque || limits.format != Format::f64) return j;
    // Where a slope has fewer digits than numbers have, a rule may just as well give 0.
    const double larger = std::max(std::abs(claim.slope), std::abs(j.numeric));
    Quotients closer(line, weights, around, claim.here);
    if (larger < std::numeric_limits<double>::min() ||
        closer.is_fine_grained(j.noise, claim.slope, j.numeric) ||
        closer.has_ripples(claim.slope, j.numeric) || closer.stands_still(claim.slope, j.numeric) ||
        (!one_number && closer.is_bent_inside(j.step, claim.slope, j.numeric)) ||
        closer.follows_neighbours(claim.slope, j.numeric) ||
        closer.follows_far_below(claim.slope, j.numeric) ||
        closer.hides_in_last_bits(j.step, claim.slope, j.numeric)) {
        j.verdict = Verdict::inconclusive;
        j.reason = Reason::roundoff;
    }
    return j;
}

}  // namespace tapestry::checker
