#include <tapestry/autograd/check/slope.h>

#include <algorithm>
#include <cmath>

namespace tapestry::checker {

Evidence::Evidence(Quotients& quotients, const Claim& claim, const GradcheckLimits& limits)
    : quotients_(quotients), claim_(claim), limits_(limits) {
    // Of a claim next to the right number of a narrow format.
    if (limits.format != Format::f64) least_ = smallest(limits.format);
    note_size(quotients_.around().base.values);
    // A definite number is compared with f as it is here, however large f is elsewhere.
    if (claim_.steady) return;
    for (const auto& values : quotients_.around().elsewhere) note_size(values);
}

// A slope of 0 has no natural size: it is compared with that of a function which changes by a tenth
// of its usual size when its input changes by its full size.
void Evidence::note_size(const std::vector<double>& values) {
    const auto& weights = quotients_.weights();
    const bool own = claim_.evened || claim_.alone;
    const double usual =
        (own ? size_of(weights, values) : usual_size(weights, values)) / quotients_.scale();
    if (!std::isfinite(usual)) return;
    invisible_ = std::max(invisible_, 0x1p-40 * usual);
    if (!claim_.vanishes && claim_.scale > 8 * kEps * usual) return;
    natural_ = std::max(natural_, 0.1 * usual);
    claim_.uncertainty = std::max(claim_.uncertainty, 8 * kEps * usual);
}

double Evidence::tolerance(const Attempt& attempt) const {
    return limits_.safety * (attempt.error + claim_.uncertainty) +
           limits_.agreement * std::min(std::abs(claim_.slope), std::abs(attempt.value)) + least_;
}

// The claim is significant and differs from the estimate, but is lost in the estimate's error.
bool Evidence::is_lost(const Attempt& attempt) const {
    constexpr double kApart = 0.25;
    const double larger = std::max(std::abs(claim_.slope), std::abs(attempt.value));
    return std::abs(claim_.slope) > limits_.safety * claim_.uncertainty &&
           tolerance(attempt) >= larger &&
           std::abs(attempt.value - claim_.slope) >= kApart * larger;
}

// 0, or the rounding of terms that cancel.
bool Evidence::is_nothing(double slope) const {
    return std::abs(slope) <= kRounding * claim_.uncertainty;
}

// If both slopes are almost nothing compared with the size of the function, they may be rounding in
// backward that shaking bits did not reveal.
double Evidence::unseen(double value) const {
    const bool nothing = std::max(claim_.scale, std::abs(value)) <= 64 * invisible_;
    return nothing ? limits_.safety * invisible_ : 0;
}

double Evidence::size_beside(double value) const {
    return std::max({claim_.scale, std::abs(value), natural_});
}

// The relative error with which an entry may pass. A slope of 0, or one left over from cancelling
// terms, has no natural size: it is compared with the others, strictly. On a tape, so are small
// ones.
double Evidence::resolution(double allowed, const Attempt& attempt) const {
    const double value = attempt.value;
    const bool directional = claim_.share > 0;
    const double own =
        directional ? claim_.share : std::max(std::abs(claim_.slope), std::abs(value));
    const double beside = size_beside(value);
    double size = own;
    if (limits_.lost_may_pass) {
        size = std::max(own, (limits_.format == Format::f64 ? 1e-3 : 0.1) * beside);
    } else if (!directional && own <= allowed && is_nothing(claim_.slope)) {
        size = (attempt.moved ? 1e-8 : 1e-6) * beside;
    }
    return size > 0 ? (allowed + attempt.error) / size : 0;
}

// If the claimed slope is 0 and f moves, the true slope may be arbitrarily small: a coarse step is
// not sufficient.
bool Evidence::sees_enough(double allowed, const Attempt& attempt, bool sharply) const {
    constexpr double kSharpOfNothing = 1e-13;
    const bool nothing = claim_.slope == 0 && claim_.share == 0 && attempt.value != 0 &&
                         attempt.moved && !limits_.lost_may_pass;
    const double beside = size_beside(attempt.value);
    if (beside == 0) return true;  // f is 0 everywhere
    const double sharp = (nothing ? kSharpOfNothing : claim_.sharp) * beside;
    if (sharply && allowed + attempt.error > sharp) return false;
    return resolution(allowed, attempt) <= limits_.resolution;
}

bool Evidence::agrees(const Attempt& attempt, bool sharply) const {
    if (attempt.obstacle != Reason::none || !attempt.settled) return false;
    const double allowed = tolerance(attempt);
    return std::abs(attempt.value - claim_.slope) <= allowed &&
           sees_enough(allowed, attempt, sharply) && (limits_.lost_may_pass || !is_lost(attempt));
}

std::optional<Judgement> Evidence::consider(const Attempt& attempt) {
    attempts_.push_back(attempt);
    if (attempt.obstacle != Reason::none || !attempt.settled) return {};
    doubted_ = doubted_ || std::abs(attempt.value - claim_.slope) > tolerance(attempt);
    if (doubted_ || !agrees(attempt, true) || quotients_.is_on_spike(attempt)) return {};
    return judgement(attempt, Verdict::pass, Reason::none);
}

std::optional<Judgement> Evidence::refutes_infinite(const Attempt& a, const Attempt& b) const {
    if (counts(a)) return judgement(a, Verdict::fail, Reason::none);
    if (counts(b)) return judgement(b, Verdict::fail, Reason::none);
    return {};
}

bool Evidence::speaks_against(const Attempt& a) const {
    if (!std::isfinite(claim_.slope)) return true;
    const double apart = std::abs(a.value - claim_.slope);
    return counts(a) && apart > tolerance(a) + unseen(a.value) && apart > 1e-4 * claim_.scale;
}

bool Evidence::plainly_refuted(const Attempt& a, const Attempt& b) const {
    if (!speaks_against(a) || !counts(b)) return false;
    const double apart = std::abs(a.value - claim_.slope);
    return std::abs(b.value - claim_.slope) > tolerance(b) &&
           std::abs(a.value - b.value) <= 1e-3 * apart &&
           4 * std::abs(a.value) >= std::abs(claim_.slope) && !quotients_.is_on_spike(a);
}

std::optional<Judgement> Evidence::between(const Attempt& left, const Attempt& right) const {
    const double allowed = std::max(tolerance(left), tolerance(right));
    const Attempt& steeper = std::abs(left.value) > std::abs(right.value) ? left : right;
    if (!sees_enough(allowed, steeper, false)) return {};
    if (!limits_.lost_may_pass && (is_lost(left) || is_lost(right))) return {};
    const double low = std::min(left.value, right.value) - allowed;
    const double high = std::max(left.value, right.value) + allowed;
    const bool inside = claim_.slope >= low && claim_.slope <= high;
    const bool nearer_left =
        std::abs(claim_.slope - left.value) < std::abs(claim_.slope - right.value);
    if (!inside && !(left.confirmed && right.confirmed)) return {};
    Judgement j =
        judgement(nearer_left ? left : right, inside ? Verdict::pass : Verdict::fail, Reason::none);
    j.tolerance = allowed;
    j.resolution = resolution(allowed, steeper);
    j.subgradient = inside && std::abs(left.value - right.value) > allowed;
    return j;
}

std::optional<Judgement> Evidence::agreement(bool sharply) const {
    const Attempt* best = nullptr;
    for (const Attempt& attempt : attempts_) {
        if (!agrees(attempt, sharply)) continue;
        if (!sharply && attempt.step > quotients_.scale()) continue;
        if (quotients_.is_on_spike(attempt)) continue;
        if (best == nullptr || attempt.error < best->error) best = &attempt;
    }
    if (best == nullptr) return {};
    const bool opposed = std::any_of(attempts_.begin(), attempts_.end(), [&](const Attempt& other) {
        return other.error < best->error && counts(other) &&
               std::abs(other.value - claim_.slope) > tolerance(other) && !contradicted(other);
    });
    if (!sharply && opposed) return {};
    return judgement(*best, Verdict::pass, Reason::none);
}

// A fit only refutes a claim beyond the band of the noise: a solver that stops too early, for
// example, is off in the same way over long stretches, and looks more accurate than it is; and so
// does a fit between two jumps.
bool Evidence::fit_is_clear(const Attempt& fit) const {
    constexpr double kBand = 8;
    const double apart = std::abs(fit.value - claim_.slope);
    return apart > 4 * tolerance(fit) + unseen(fit.value) + fit.hidden &&
           apart * fit.step > std::max(kBand * fit.rounding, quotients_.noise_here());
}

// Whether a fit at another scale finds about the same slope, and none of smaller steps another,
// each within its errors. A periodic function looks flat from afar; and from
// number to number of a format it may look like a slower one.
bool Evidence::is_upheld(const Attempt& fit, const std::vector<Attempt>& fits) const {
    if (fit.is_rough) return false;
    int others = 0;
    for (const Attempt& other : fits) {
        if (other.step == fit.step) continue;
        const double allowed =
            limits_.safety * (fit.error + other.error) + fit.hidden + other.hidden;
        const bool agrees = !other.is_rough && std::abs(other.value - fit.value) <= allowed;
        if (!agrees && other.step < fit.step) return false;
        others += agrees ? 1 : 0;
    }
    return others > 0;
}

// The sharpest of the fits that f does not follow, if it agrees with the claim and so do, as far as
// they see, those that f follows: those of smaller steps. A sum of rounded terms rounds more than
// its result shows. What such a fit leaves over refutes nothing, but is part of its error.
const Attempt* Evidence::rough_agreement(const std::vector<Attempt>& fits) const {
    for (const Attempt& fit : fits) {
        if (fit.is_rough) return agrees(fit, false) ? &fit : nullptr;
        if (std::abs(fit.value - claim_.slope) > tolerance(fit)) return nullptr;
    }
    return nullptr;
}

Judgement Evidence::by_fit(const std::vector<Attempt>& fits) const {
    const Attempt& fit = fits.front();
    if (agrees(fit, false)) return judgement(fit, Verdict::pass, Reason::none);
    if (const Attempt* rough = rough_agreement(fits)) {
        return judgement(*rough, Verdict::pass, Reason::none);
    }
    constexpr double kBand = 8, kPlainRounding = 64 * kEps;
    const double plain =
        kPlainRounding * size_of(quotients_.weights(), quotients_.around().base.values);
    const bool noisy = fit.rounding > plain && fit.rounding <= kBand * quotients_.noise_here();
    const bool narrow = limits_.format != Format::f64;
    const bool twice = narrow ? is_upheld(fit, fits) : fits.size() > 1 && confirms(fits[1], fit);
    if ((noisy || narrow) && fit_is_clear(fit) && twice) {
        return judgement(fit, Verdict::fail, Reason::none);
    }
    return judgement(fit, Verdict::inconclusive, Reason::roundoff);
}

// An attempt counts if its differences settled and it could have seen a slope. A step beyond x's
// own size may reach a region where the function is flat; a small one may drown in intermediate
// rounding that leaves no trace in the result: both show a slope of 0. An even function has it too,
// and moves away from its value at x; so has one that is flat up to a kink, and does not round
// where it moves.
bool Evidence::counts(const Attempt& attempt) const {
    if (attempt.obstacle != Reason::none || !attempt.settled) return false;
    if (std::abs(attempt.value) > tolerance(attempt)) return true;
    if (attempt.step > quotients_.scale()) return false;
    const auto coarser_moves = [&](const Attempt& other) {
        return other.step > attempt.step && other.moved;
    };
    if (attempt.moved || attempt.bends) return true;
    if (std::none_of(attempts_.begin(), attempts_.end(), coarser_moves)) return true;
    return quotients_.is_flat_within(attempt.step, claim_.slope);
}

// The attempt with the smallest error, among steps up to x's own size or beyond it.
const Attempt* Evidence::sharpest(bool beyond) const {
    const Attempt* best = nullptr;
    for (const Attempt& attempt : attempts_) {
        if (!counts(attempt) || (attempt.step > quotients_.scale()) != beyond) continue;
        if (best == nullptr || attempt.error < best->error) best = &attempt;
    }
    return best;
}

// Whether the slopes of smaller steps support the claim, or grow without bound, by more than
// rounding explains. Then the function oscillates or saturates within the step, or rounds in ways
// that do not show.
bool Evidence::contradicted(const Attempt& attempt) const {
    const double apart = std::abs(attempt.value - claim_.slope);
    const double steep = 10 * std::max(std::abs(attempt.value), tolerance(attempt));
    return std::any_of(attempts_.begin(), attempts_.end(), [&](const Attempt& other) {
        if (other.obstacle != Reason::none || other.step >= attempt.step) return false;
        for (int i = 0; i < kLevels; ++i) {
            const double noise = limits_.safety * other.rounding / std::ldexp(other.step, -i);
            const double slope = other.slopes[static_cast<std::size_t>(i)];
            const double miss = std::abs(slope - attempt.value);
            if (!(miss <= tolerance(attempt) + 0.1 * apart + noise)) return true;
            if (!(std::abs(slope) <= steep + noise)) return true;
        }
        return false;
    });
}

// Among the steps beyond x's own size or up to it: the largest whose slope speaks clearly against
// the claim and is not contradicted, unless another that is as accurate supports the claim. (Small
// steps drown in rounding that leaves no trace, large ones are contradicted by smaller ones.)
const Attempt* Evidence::strongest_against(bool beyond) const {
    const Attempt* against = nullptr;
    for (const Attempt& attempt : attempts_) {
        if (!counts(attempt) || (attempt.step > quotients_.scale()) != beyond) continue;
        const double apart = std::abs(attempt.value - claim_.slope);
        if (apart <= 4 * tolerance(attempt) + unseen(attempt.value)) continue;
        // If a step crosses a kink, three quotients may shrink by 4 each time and converge to
        // nothing: the finest must not have been at the claim itself.
        if (std::abs(attempt.slopes.back() - claim_.slope) < apart / 8) continue;
        const bool larger = against == nullptr || attempt.step > against->step;
        if (!larger || contradicted(attempt) || quotients_.is_on_spike(attempt)) continue;
        against = &attempt;
    }
    if (against == nullptr) return nullptr;
    const double apart = std::abs(against->value - claim_.slope);
    const bool opposed = std::any_of(attempts_.begin(), attempts_.end(), [&](const Attempt& other) {
        return other.step > against->step && counts(other) && tolerance(other) < apart / 8 &&
               std::abs(other.value - claim_.slope) < apart / 8;
    });
    return opposed ? nullptr : against;
}

bool Evidence::supports_claim() const {
    return std::any_of(attempts_.begin(), attempts_.end(), [&](const Attempt& attempt) {
        return counts(attempt) && std::abs(attempt.value - claim_.slope) <= tolerance(attempt);
    });
}

// Whether `other` finds the slope that `attempt` found, and not the claim.
bool Evidence::confirms(const Attempt& other, const Attempt& attempt) const {
    const double apart = std::isfinite(claim_.slope) ? std::abs(attempt.value - claim_.slope)
                                                     : std::abs(attempt.value);
    return std::abs(other.value - attempt.value) <= 0.25 * apart && other.error <= 0.5 * apart;
}

// Whether steps at least 8 times as large or as small, which share no value of f with it, find the
// same slope.
bool Evidence::confirmed(const Attempt& attempt) {
    constexpr double kOtherScale = 8;
    const auto is_other = [&attempt](const Attempt& other) {
        const double ratio = other.step / attempt.step;
        return ratio >= kOtherScale || ratio <= 1 / kOtherScale;
    };
    for (const Attempt& other : attempts_) {
        if (is_other(other) && counts(other) && confirms(other, attempt)) return true;
    }
    for (const double step : {attempt.step / kOtherScale, attempt.step * kOtherScale}) {
        const Attempt other = quotients_.central(step);
        if (counts(other) && confirms(other, attempt)) return true;
    }
    return false;
}

std::optional<Judgement> Evidence::refutation() {
    const Attempt* against = strongest_against(false);
    if (against == nullptr && sharpest(false) == nullptr) against = strongest_against(true);
    if (against == nullptr || !confirmed(*against)) return {};
    return judgement(*against, Verdict::fail, Reason::none);
}

Judgement Evidence::undecided() const {
    const Attempt* best = sharpest(false);
    if (best == nullptr) best = sharpest(true);
    if (best == nullptr) {
        const Attempt& first = attempts_.front();
        const bool none = first.obstacle == Reason::none;
        return judgement(first, Verdict::inconclusive, none ? Reason::truncation : first.obstacle);
    }
    const bool rounding =
        limits_.safety * (best->noise + claim_.uncertainty) > 0.25 * tolerance(*best);
    return judgement(*best, Verdict::inconclusive,
                     rounding ? Reason::roundoff : Reason::truncation);
}

Judgement Evidence::judgement(const Attempt& attempt, Verdict verdict, Reason reason) const {
    Judgement j{.verdict = verdict, .reason = reason};
    j.numeric = attempt.value;
    j.error = attempt.error;
    j.tolerance = tolerance(attempt);
    j.noise = attempt.rounding;
    j.resolution = resolution(j.tolerance, attempt);
    j.step = attempt.step;
    j.doubted = doubted_;
    j.above = quotients_.value_at(attempt.step);
    j.below = quotients_.value_at(-attempt.step);
    return j;
}

Judgement Evidence::no_number() {
    Judgement j{.verdict = Verdict::inconclusive, .reason = Reason::not_finite};
    j.numeric = std::numeric_limits<double>::quiet_NaN();
    return j;
}

}  // namespace tapestry::checker
