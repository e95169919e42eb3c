#include <tapestry/autograd/check/compare.h>

#include <tapestry/autograd/check/below_rounding.h>
#include <tapestry/autograd/check/entry_claims.h>
#include <tapestry/autograd/check/limits.h>
#include <tapestry/autograd/check/near_miss.h>
#include <tapestry/autograd/check/noise.h>
#include <tapestry/autograd/check/noise_of_claims.h>
#include <tapestry/autograd/check/quotients.h>
#include <tapestry/autograd/check/values.h>
#include <tapestry/core/create.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

namespace tapestry::checker {
namespace {

// How bad a judgement is: compares verdicts first, then how far it is outside its tolerance.
double badness(const SlopeReport& slope) {
    const Judgement& j = slope.judgement;
    if (j.verdict == Verdict::pass && j.subgradient) return 0;
    const double difference = std::abs(slope.claimed - j.numeric);
    const double ratio = j.tolerance > 0 ? difference / j.tolerance : (difference > 0 ? 1e300 : 0);
    return std::isfinite(ratio) ? ratio : 1e300;
}

// Possible reasons for a claim that f does not confirm where f is coarse. Nothing distinguishes
// them, so both are named.
std::string noise_note(const SlopeReport& slope) {
    const Judgement& j = slope.judgement;
    if (j.constant) {
        return "f is constant here, the claim is not: a wrong gradient, a straight-through "
               "estimator, or a function that rounds more coarsely than x can show";
    }
    constexpr double kCoarse = 1e-13;
    if (j.below_rounding) {
        return "f depends on some entries by less than it rounds, so no step near x can tell a "
               "right claim about them from a wrong one: check them by themselves, or where their "
               "part of f is larger";
    }
    const double size = std::max(std::abs(j.above), std::abs(j.below));
    const double larger = std::max(std::abs(slope.claimed), std::abs(j.numeric));
    const bool coarse = j.noise > kCoarse * size && size > 0 && std::isfinite(larger);
    if (j.verdict != Verdict::inconclusive || !coarse || larger == 0) return {};
    return fmt::format(
        "claim and differences are {:.1g} of the slope apart, and f is only accurate to {:.1g}: "
        "the gradient is wrong, or f rounds or stops iterating there (declare its noise to find "
        "out)",
        std::abs(slope.claimed - j.numeric) / larger, j.noise / size);
}

}  // namespace

void add_slope(InputReport& report, SlopeReport slope, bool evened) {
    const Verdict verdict = slope.judgement.verdict;
    if (evened && verdict == Verdict::inconclusive) return;
    if (verdict == Verdict::inconclusive) {
        constexpr int kFew = 8;
        if (++report.inconclusive <= kFew) {
            report.unseen.push_back({slope.where, slope.judgement.reason});
        }
    } else if (const double step = slope.judgement.step; step > 0) {
        report.least_step = report.least_step > 0 ? std::min(report.least_step, step) : step;
        report.most_step = std::max(report.most_step, step);
    }
    if (verdict == Verdict::pass && !evened) {
        report.resolution = std::max(report.resolution, slope.judgement.resolution);
    }
    report.noise = std::max(report.noise, or_zero(slope.judgement.noise));
    if (report.note.empty()) report.note = noise_note(slope);
    const bool first = report.compared++ == 0;
    const bool worse = verdict > report.verdict ||
                       (verdict == report.verdict && badness(slope) > badness(report.worst));
    if (!first && !worse) return;
    report.verdict = verdict;
    report.reason = slope.judgement.reason;
    report.worst = std::move(slope);
}

namespace {

Judgement fixed_step(Line& line, const std::vector<double>& weights, const Claim& claim,
                     const Examination& examination) {
    Judgement j{.step = examination.eps};
    if (j.step > line.reach()) {  // beyond a bound
        j.verdict = Verdict::inconclusive;
        j.reason = Reason::bounds;
        return j;
    }
    j.above = dot(weights, line.at(j.step).values);
    j.below = dot(weights, line.at(-j.step).values);
    j.numeric = (j.above - j.below) / (2 * j.step);
    if (!std::isfinite(j.numeric)) {
        j.verdict = Verdict::inconclusive;
        j.reason = Reason::not_finite;
        return j;
    }
    j.tolerance = examination.atol + examination.rtol * std::abs(j.numeric);
    if (j.numeric != 0) j.resolution = j.tolerance / std::abs(j.numeric);
    const bool close = std::abs(claim.slope - j.numeric) <= j.tolerance;
    j.verdict = close ? Verdict::pass : Verdict::fail;
    return j;
}

}  // namespace

SlopeReport examine_entry(Subject& subject, std::size_t which, std::size_t entry,
                          const Neighbourhood& around, const ClaimedGradient& claim,
                          const Examination& examination, const HiddenNoise& hidden) {
    const Tensor& leaf = subject.leaves()[which].second;
    const auto x = leaf.to_vector<double>();
    const std::span one(&claim, 1);
    NoiseOfClaims noise(subject, which, one);
    const std::vector<double> steps = steps_of(x);
    const Claim size = of_entry(sizes_of(one, steps)[0], claim, entry, steps[entry],
                                rounding_of(one, entry), examination.limits);
    SlopeReport slope{.where = "at " + index_text(leaf.shape(), static_cast<std::int64_t>(entry)),
                      .claimed = size.slope};
    std::vector<double> u(x.size(), 0.0);
    u[entry] = 1;
    Line line = subject.along(which, std::move(u), steps[entry]);
    const HiddenNoise own = [&](Jumps jumps) { return noise.of(0, jumps); };
    slope.judgement =
        examine(line, claim.weights, around, size, examination, true, hidden ? hidden : own);
    leave_open_if_below_rounding(line, claim.weights, around, size, examination, slope.judgement);
    leave_open_if_between_jumps(line, x[entry], claim.weights, size.slope, examination,
                                slope.judgement);
    return slope;
}

namespace {

// Whether f moves by a definite part of itself where the claim is 0, and nothing in the rule that
// reaches this entry rounds by as much. `moves`: the slope of an f that moves as much as x.
constexpr double kDefinite = 0x1p-30;
bool is_dropped(const Claim& claim, const Judgement& found, double moves) {
    const double seen = std::abs(found.numeric);
    return claim.slope == 0 && seen > kDefinite * moves && seen > kRounding * found.error &&
           seen > kRounding * claim.explained;
}

}  // namespace

Judgement examine(Line& line, const std::vector<double>& weights, const Neighbourhood& around,
                  const Claim& claim, const Examination& examination, bool one_number,
                  const HiddenNoise& hidden) {
    if (examination.fixed) return fixed_step(line, weights, claim, examination);
    Claim known = claim;
    if (examination.noise > 0 || examination.relative_noise > 0) {
        std::vector<double> noise;
        for (const double y : around.base.values) {
            noise.push_back(examination.noise + examination.relative_noise * std::abs(or_zero(y)));
        }
        known.noise = std::max(known.noise, size_of(weights, noise));
    }
    // Rounding left over by terms that cancel changes with the last bits.
    constexpr double kSteady = 0x1p20;
    if (claim.alone && std::abs(claim.slope) > kSteady * claim.uncertainty) {
        known.steady = true;
        const Judgement own =
            check_slope(line, weights, around, known, examination.limits, one_number, hidden);
        if (own.verdict != Verdict::inconclusive) return own;
        known.steady = false;
    }
    const Judgement first =
        check_slope(line, weights, around, known, examination.limits, one_number, hidden);
    const double moves = size_of(weights, around.base.values) / line.scale();
    if (is_dropped(claim, first, moves)) {
        if (first.verdict == Verdict::fail) return first;
        known.steady = true;
        const Judgement own =
            check_slope(line, weights, around, known, examination.limits, one_number, hidden);
        if (own.verdict == Verdict::fail) return own;
        if (first.verdict == Verdict::inconclusive) return first;
        known.steady = false;
    }
    if (first.verdict == Verdict::pass || known.shared <= known.uncertainty) return first;
    known.uncertainty = known.shared;
    known.vanishes = known.scale <= kRounding * known.uncertainty;
    if (std::abs(claim.slope) <= known.shared) known.scale = known.shared_scale;
    Judgement again =
        check_slope(line, weights, around, known, examination.limits, one_number, hidden);
    // A claim that is not right by its own size: it may be what others' rounding leaves of it.
    const double apart = std::abs(claim.slope - first.numeric);
    const bool is_nothing = std::max(std::abs(claim.slope), apart) <= known.nothing;
    const double seen = std::abs(first.numeric);
    const bool moves_clearly = seen > kDefinite * moves || seen > kRounding * first.error;
    if (first.verdict == Verdict::fail && again.verdict == Verdict::pass &&
        (moves_clearly || !is_nothing)) {
        again.verdict = Verdict::inconclusive;
        again.reason = Reason::roundoff;
    }
    return again;
}

namespace {

// Between two jumps of a rounded numerator, c / x^k falls by what a few jumps raise it by: the
// slope `there`, over a jump, is shifted against the slope between them.
bool is_of_denominator(double slope, double there, double jump, double x) {
    constexpr double kFew = 8;
    const double falls = std::abs(slope * x);
    return (there - slope) * slope < 0 && falls < kFew * jump && kFew * falls > jump;
}

}  // namespace

void leave_open_if_between_jumps(Line& line, double x, const std::vector<double>& weights,
                                 double claimed, const Examination& examination,
                                 Judgement& judgement) {
    constexpr double kFew = 8;
    const GradcheckLimits& limits = examination.limits;
    const bool opaque = !limits.lost_may_pass && !examination.fixed;
    const double apart = std::abs(claimed - judgement.numeric);
    if (!opaque || judgement.verdict != Verdict::fail || !std::isfinite(apart)) return;
    for (const double times : {0x1p18, 0x1p12, 64.0, 8.0}) {
        const double far = std::min(times * judgement.step, line.reach());
        if (times > 64 && far < times * judgement.step) continue;  // for very small steps only
        const Sample &above = line.at(far), &below = line.at(-far);
        const double there = weighted_difference(weights, above.values, below.values) / (2 * far);
        // The slope that was found continues: there are no jumps.
        if (!(std::abs(there - judgement.numeric) > 0.25 * apart)) return;
        const double jump = jump_within(line, weights, judgement.noise, far);
        if (!(jump > 0)) continue;
        const bool are_few = apart * 2 * far <= kFew * jump;
        const bool leads_to_claim = std::abs(there - claimed) < 0.5 * apart;
        if (!are_few && !leads_to_claim) continue;
        const bool is_excuse =
            (are_few && (leads_to_claim || is_of_denominator(judgement.numeric, there, jump, x))) ||
            jump_on_both_sides(line, weights, judgement.noise, far) > 0;
        if (!is_excuse) continue;
        judgement.verdict = Verdict::inconclusive;
        judgement.reason = Reason::roundoff;
        return;
    }
}

double typical_size(const std::vector<double>& x) {
    std::vector<double> sizes;
    sizes.reserve(x.size());
    for (const double value : x) {
        if (value != 0 && std::isfinite(value)) sizes.push_back(std::abs(value));
    }
    if (sizes.empty()) return 1;
    const auto tenth = sizes.begin() + static_cast<std::ptrdiff_t>(sizes.size() / 10);
    std::nth_element(sizes.begin(), tenth, sizes.end());
    return *tenth;
}

std::vector<double> random_direction(const std::vector<double>& x, std::uint64_t seed) {
    return random_direction(x, seed, typical_size(x));
}

std::vector<double> random_direction(const std::vector<double>& x, std::uint64_t seed,
                                     double typical) {
    std::vector<double> u = random_signs(x.size(), seed);
    multiply_by_sizes(u, x, typical);
    return u;
}

std::string index_text(const Shape& shape, std::int64_t flat) {
    Shape index = shape;
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
        index[axis] = flat % shape[axis];
        flat /= shape[axis];
    }
    return fmt::format("{}", index);
}

std::vector<double> evened(const std::vector<double>& weights, const Neighbourhood& around) {
    constexpr double kMuchSmaller = 1e-3;
    std::vector<double> sizes(weights.size());
    const auto note = [&sizes](const std::vector<double>& values) {
        for (std::size_t i = 0; i < sizes.size(); ++i) {
            sizes[i] = std::max(sizes[i], or_zero(std::abs(values[i])));
        }
    };
    note(around.base.values);
    for (const auto& values : around.elsewhere) note(values);
    const double most = largest(sizes);
    std::vector<double> even = weights;
    for (std::size_t i = 0; i < even.size(); ++i) {
        if (sizes[i] > 0 && sizes[i] < kMuchSmaller * most) even[i] *= most / sizes[i];
    }
    return even;
}

Claim claim_along(const ClaimedGradient& claim, const std::vector<double>& u) {
    Claim along;
    along.slope = dot(claim.gradient, u);
    along.scale = size_of(claim.gradient, u);  // of <gradient, u> over random signs of u
    along.share = along.scale / std::sqrt(static_cast<double>(u.size()));
    double moved = 0, moved_at_all = 0;
    for (const Shaken& one : shaken_along(claim.gradient, claim.shaken, u)) {
        moved = std::max(moved, std::abs(one.change));
        moved_at_all = std::max(moved_at_all, std::sqrt(one.squares));
    }
    along.uncertainty = std::max(moved, kEps * along.scale);
    along.evened = claim.evened;
    along.alone = claim.alone;
    along.here = claim.here;
    along.vanishes = along.scale <= kRounding * moved_at_all;
    return along;
}

std::string kink_note(Subject& subject, std::size_t which, const std::vector<double>& u,
                      const Judgement& judgement) {
    const bool kink = judgement.subgradient || judgement.reason == Reason::kink;
    if (!kink) return {};
    std::string op = subject.first_other_branch(which, u, judgement.step);
    if (op.empty()) op = subject.first_other_branch(which, u, -judgement.step);
    if (op.empty()) op = "f";
    return judgement.subgradient
               ? fmt::format("on a kink of {}: the gradient lies between the slopes on both sides",
                             op)
               : fmt::format("{} takes different branches however small the step", op);
}

namespace {

// Entries from `first` on, which a limit leaves unexamined, count as right, and tell nothing.
void note_unseen(std::span<const ClaimedGradient> claims, std::size_t first,
                 std::vector<NearMiss>& misses) {
    for (std::size_t k = 0; k < claims.size(); ++k) {
        for (std::size_t i = first; i < claims[k].gradient.size(); ++i) {
            const double slope = claims[k].gradient[i];
            misses[k].note(slope, 0, {.numeric = slope, .error = HUGE_VAL});
        }
    }
}

}  // namespace

void compare_entries(Subject& subject, std::size_t which, const Neighbourhood& around,
                     std::span<const ClaimedGradient> claims, const Examination& examination,
                     InputReport& report) {
    const Tensor& leaf = subject.leaves()[which].second;
    const auto x = leaf.to_vector<double>();
    const std::vector<double> steps = steps_of(x);
    const std::vector<Claim> sizes = sizes_of(claims, steps);
    NoiseOfClaims noise(subject, which, claims);
    std::vector<NearMiss> misses(claims.size());
    ShownEntries shown;
    constexpr int kDoubted = 3;  // wrong entries, after which there is no doubt
    const auto is_wrong_at = [&](std::size_t i) {
        std::vector<double> u(x.size(), 0.0);
        u[i] = 1;
        Line line = subject.along(which, u, steps[i]);
        line.stay_in(examination.limits.format, x[i]);
        bool is_wrong = false;
        const double rounding = rounding_of(claims, i);
        for (std::size_t k = 0; k < claims.size(); ++k) {
            const auto& claim = claims[k];
            const Claim entry =
                of_entry(sizes[k], claim, i, steps[i], rounding, examination.limits);
            const std::string index = index_text(leaf.shape(), static_cast<std::int64_t>(i));
            SlopeReport slope{.where = "at " + index, .claimed = entry.slope};
            slope.judgement = examine(line, claim.weights, around, entry, examination, true,
                                      [&](Jumps jumps) { return noise.of(k, jumps); });
            leave_open_if_below_rounding(line, claim.weights, around, entry, examination,
                                         slope.judgement);
            if (report.wrong < kDoubted) {
                leave_open_if_between_jumps(line, x[i], claim.weights, entry.slope, examination,
                                            slope.judgement);
            }
            if (report.note.empty()) report.note = kink_note(subject, which, u, slope.judgement);
            if (claims.size() > 1) slope.where += ", " + claim.of;
            is_wrong = is_wrong || slope.judgement.verdict == Verdict::fail;
            misses[k].note(slope.claimed, entry.uncertainty, slope.judgement);
            shown.note(i, slope);
            add_slope(report, std::move(slope), claim.evened);
        }
        return is_wrong;
    };
    std::size_t i = 0;
    try {
        for (; i < x.size(); ++i) {
            if (is_wrong_at(i) && report.wrong++ == 0) report.first_wrong = i;
        }
    } catch (const Budget::Spent&) {
        note_unseen(claims, i, misses);
        leave_open_if_near(report, misses, examination);
        throw;
    }
    leave_open_if_near(report, misses, examination);
    shown.state(report);
}

}  // namespace tapestry::checker
