#include <tapestry/autograd/check/joint_directions.h>

#include <tapestry/autograd/check/noise.h>
#include <tapestry/autograd/check/noise_of_claims.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

namespace tapestry::checker {
namespace {

constexpr int kFewestOfAll = 3, kMostOfAll = 5, kUsualOfOne = 8, kMostOfOne = 16,
              kMostFitted = 10;  // directions
constexpr std::size_t kMostGroups = 8, kFewEntries = 8;
constexpr double kFiveDigits = 1e-5;  // a pass of these needs no closer look (slope.cpp)
constexpr double kSharp = 1e-6;       // a part of an entry that no mistake is smaller than

}  // namespace

JointDirections::JointDirections(const Setting& setting, std::span<const ClaimedGradient> claims,
                                 std::span<const EntryClasses> classes,
                                 std::optional<std::size_t> only)
    : in_(setting), claims_(claims), classes_(classes), only_(only), seen_(claims.size()) {}

void JointDirections::group_entries() {
    const std::size_t n = classes_[0].sizes.size(), claims = claims_.size();
    groups_.assign(claims + 1, {.of_claim = std::vector<std::size_t>(claims, 0)});
    if (only_) {
        const SizeClass& one = classes_[0].classes[*only_];
        groups_[0] = {one.count, {one.most > 0 ? one.count : 0}};
        return;
    }
    const bool one_group = classes_[0].classes.back().most > 0;
    if (claims > 1 || !one_group) group_of_.assign(n, 0);
    for (std::size_t i = 0; i < n && !group_of_.empty(); ++i) {
        std::size_t first = 0;
        while (first < claims && classes_[first].sizes[i] == 0) ++first;
        Group& group = groups_[first];
        ++group.count;
        for (std::size_t k = first; k < claims; ++k) {
            group.of_claim[k] += classes_[k].sizes[i] > 0 ? 1 : 0;
        }
        group_of_[i] = static_cast<std::uint8_t>(first);
    }
    if (group_of_.empty()) groups_[0] = {n, {n}};
}

// Where all entries move together, none need contribute more than the smallest of the largest
// class: that is what the class is resolved by, and the less the others move, the smaller is
// truncation.
void JointDirections::set_steps() {
    steps_ = in_.subject.own_sizes(in_.which);
    if (only_) multiply(steps_, shares_within(classes_[0].classes[*only_], classes_[0].sizes));
    const bool together = group_of_.empty() && !only_;
    const Values& sizes = classes_[0].sizes;
    const double most = classes_[0].classes.front().least;
    for (std::size_t i = 0; together && i < steps_.size(); ++i) {
        steps_[i] *= sizes[i] > most ? most / sizes[i] : 1.0;
    }
    for (std::size_t k = 0; k < claims_.size(); ++k) {
        for (const SizeClass& one : classes_[k].classes) seen_[k].least.push_back(one.least);
    }
}

bool JointDirections::run() {
    for (std::size_t k = 0; k < claims_.size(); ++k) {
        if (classes_[k].classes.front().most == 0) return false;  // nothing to compare with
        seen_[k].usual = size_of(claims_[k].weights, in_.around.base.values);
        for (const Values& values : in_.around.elsewhere) {
            seen_[k].usual = std::max(seen_[k].usual, size_of(claims_[k].weights, values));
        }
    }
    if (claims_.size() >= kMostGroups) return false;
    group_entries();
    set_steps();
    most_ = std::min(only_ ? kMostOfOne : kMostOfAll, in_.directions);
    is_few_ = only_ && groups_[0].count <= kFewEntries;
    if (is_few_) most_ = static_cast<int>(std::bit_ceil(groups_[0].count));
    const int fewest = is_few_ ? most_ : std::min(kFewestOfAll, most_);
    while (taken_ < most_) {
        const auto u = drawn();
        multiply(*u, steps_);
        for (std::size_t g = 0; g < groups_.size(); ++g) {
            if (groups_[g].count == 0) continue;
            auto within = u;
            if (!group_of_.empty()) {
                within = std::make_shared<Values>(
                    where_group_is(static_cast<std::uint8_t>(g), group_of_, *u));
            }
            Line line = in_.subject.along(in_.which, within, 1);
            if (!look_along(line, *within, g)) return false;
        }
        if (++taken_ >= fewest && is_sharp()) break;
    }
    return true;
}

// The parts of their sizes by which entries move.
std::shared_ptr<JointDirections::Values> JointDirections::drawn() const {
    const auto row = static_cast<unsigned>(taken_);
    if (!is_few_) return std::make_shared<Values>(random_parts(steps_.size(), in_.seed + row));
    auto signs = std::make_shared<Values>(steps_.size(), 0.0);
    unsigned column = 0;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
        if (steps_[i] == 0) continue;
        (*signs)[i] = std::popcount(row & column++) % 2 == 0 ? 1 : -1;
    }
    return signs;
}

// Quotients that do not settle show rounding that f's last bits do not, as in a long sum.
std::optional<Attempt> JointDirections::attempt(Quotients& quotients, double step, Seen& seen) {
    quotients.set_least_noise(seen.noise);
    Attempt found = quotients.central(step);
    if (found.obstacle != Reason::none) return {};
    if (!found.settled) {
        seen.noise = std::max(seen.noise, std::abs(found.slopes[1] - found.slopes[2]) * step / 4);
        quotients.set_least_noise(seen.noise);
        found = quotients.central(step);
    }
    return found.settled ? std::optional(found) : std::nullopt;
}

// How far a claim that agrees may be off.
double JointDirections::off_by(const Attempt& found, const Claim& along) const {
    const double safety = in_.examination.limits.safety;
    return (1 + safety) * found.error + safety * along.uncertainty;
}

// Whether values next to one another show that f rounds more than its last bits, as a sum of a
// million terms does. The residuals of kinks or a steep part become smaller with the steps.
bool JointDirections::notes_noise(Line& line, const Quotients& quotients, Seen& seen, double step) {
    constexpr double kCloser = 0.125, kStays = 0.25;
    constexpr int kTimes = 4;
    if (seen.is_noisy) return false;
    seen.is_noisy = true;
    const auto rounding_at = [&](double h) {
        const auto fit = quickly_fitted_slope(line, quotients.weights(), h);
        return fit ? fit->rounding : 0;
    };
    double noise = rounding_at(step);
    bool stays = false;
    for (int k = 0; k < kTimes && !stays && noise > quotients.noise_here(); ++k) {
        step *= kCloser;
        const double near = rounding_at(step);
        stays = near >= kStays * noise;
        noise = std::min(noise, near);
    }
    if (!stays || noise <= quotients.noise_here()) return false;
    seen.rounding = noise;
    if (!(noise > seen.noise)) return false;
    seen.noise = noise;
    return true;
}

// Rounding shrinks with larger steps, truncation with smaller ones: the better of the usual one,
// larger and smaller ones.
double JointDirections::step_for(Line& line, Quotients& quotients, const Claim& along,
                                 std::size_t claim) {
    constexpr int kUsual = -7, kFactor = 3;
    Seen& seen = seen_[claim];
    auto found = attempt(quotients, std::ldexp(1, kUsual), seen);
    int best = kUsual;
    if (!found || along.slope == 0) return std::ldexp(1, kUsual);
    const double least = seen.least[only_.value_or(0)];
    const auto climbs = [&](int by) {
        while (factor(kFewestOfAll) * off_by(*found, along) > kSharp * least &&
               std::abs(best) < 12) {
            const auto other = attempt(quotients, std::ldexp(1, best + by), seen);
            if (!other || !(2 * other->error < found->error)) return;
            found = other;
            best += by;
            if (best + by >= 0) return;
        }
    };
    climbs(kFactor);
    if (best == kUsual) climbs(-kFactor);
    const double enough = in_.examination.limits.resolution * least;
    const auto is_coarse = [&] { return !only_ && factor(most_) * off_by(*found, along) > enough; };
    if (is_coarse() && notes_noise(line, quotients, seen, std::ldexp(1, best))) {
        return step_for(line, quotients, along, claim);
    }
    if (is_coarse()) {
        seen.is_open = true;
        seen.is_dull = true;
    }
    return std::ldexp(1, best);
}

// A claim that is off, but not by far, is looked at again with the noise of values further apart.
std::optional<Attempt> JointDirections::attempt_agreeing(Line& line, Quotients& quotients,
                                                         const Claim& along, Seen& seen,
                                                         double step) {
    constexpr double kFar = 64;  // as the rounding of a million terms is beyond the last bits
    const auto found = attempt(quotients, step, seen);
    const double safety = in_.examination.limits.safety;
    const double apart = found ? std::abs(found->value - along.slope) : 0;
    const double allowed = found ? safety * (found->error + along.uncertainty) : 0;
    if (found && (apart <= allowed || apart > kFar * allowed)) return found;
    if (!notes_noise(line, quotients, seen, step)) return found;
    return attempt(quotients, step, seen);
}

// One class by itself, which three quotients do not show: a smaller step if truncation hides it, a
// fit to 24 values if rounding does.
void JointDirections::look_closer(Line& line, Quotients& quotients, const Claim& along,
                                  Group& group, std::optional<Attempt>& found) {
    // Fits to 128 values gain at most this (slope.cpp); for many entries they cost too much.
    constexpr double kMuchBetter = 16;
    Seen& seen = seen_[0];
    const double enough = in_.examination.limits.resolution * seen.least[*only_];
    if (along.slope == 0 || factor(most_) * off_by(*found, along) <= enough) return;
    if (notes_noise(line, quotients, seen, group.step)) {
        const auto again = attempt(quotients, group.step, seen);
        seen.is_open = !again;
        if (!again) return;
        found = again;
    }
    const bool is_rounding = 2 * found->noise > found->error;
    if (!is_rounding) {
        const auto closer = attempt(quotients, group.step / 8, seen);
        if (closer && closer->error < found->error) found = closer;
        if (factor(most_) * off_by(*found, along) <= enough) {
            group.step /= 8;
            return;
        }
    }
    std::optional<Attempt> best;
    for (const double step : {group.step, group.step / 4}) {
        const auto fit = quickly_fitted_slope(line, quotients.weights(), step);
        if (fit && (!best || fit->error < best->error)) best = fit;
        if (best && factor(most_) * off_by(*best, along) <= enough) break;
    }
    if (!best) return;
    group.step = best->step;
    group.is_fitted = true;
    most_ = std::min(most_, std::max(taken_ + 1, kMostFitted));
    const double off = off_by(*best, along);
    const bool is_large = steps_.size() > kManyEntries;
    seen.is_lost = is_rounding && off > (is_large ? 1 : kMuchBetter) * enough;
    seen.is_open = factor(most_) * off > enough;
    if (best->error < found->error) found = best;
}

bool JointDirections::look_along(Line& line, const Values& u, std::size_t group) {
    bool any = false;
    const std::size_t count = claims_.size();
    for (std::size_t turn = 0; turn < count; ++turn) {
        const std::size_t k = (std::min(group, count - 1) + turn) % count;  // the owner first
        if (seen_[k].is_open) continue;
        const ClaimedGradient& claim = claims_[k];
        const Claim along = claim_along(claim, u);
        Quotients quotients(line, claim.weights, in_.around, claim.here);
        const bool is_number = std::isfinite(along.slope) && quotients.is_finite_here();
        if (!is_number) {
            seen_[k].is_open = true;
            continue;
        }
        if (groups_[group].step == 0) groups_[group].step = step_for(line, quotients, along, k);
        if (seen_[k].is_open) continue;
        look_at(line, quotients, along, k, groups_[group]);
        any = any || !seen_[k].is_open;
    }
    return any;
}

void JointDirections::look_at(Line& line, Quotients& quotients, const Claim& along,
                              std::size_t claim, Group& group) {
    Seen& seen = seen_[claim];
    const double safety = in_.examination.limits.safety;
    auto found = group.is_fitted ? quickly_fitted_slope(line, quotients.weights(), group.step)
                                 : attempt_agreeing(line, quotients, along, seen, group.step);
    const bool zeros = group.of_claim[claim] == 0;
    double uncertainty = along.uncertainty;
    if (zeros) {
        const double size =
            classes_[claim].classes.front().most * std::sqrt(static_cast<double>(group.count));
        uncertainty = std::max(uncertainty, kEps * size);
    }
    if (only_ && found && !zeros && !group.is_fitted) {
        look_closer(line, quotients, along, group, found);
        if (seen.is_open) return;
    }
    const double allowed = found ? safety * (found->error + uncertainty) : 0;
    if (!found || !(std::abs(found->value - along.slope) <= allowed)) {
        seen.is_open = true;
        return;
    }
    if (zeros) {
        // The larger a step that moves nothing, the more it tells.
        constexpr double kFar = 0x1p-1;
        const bool is_coarse = !found->moved && group.step < kFar;
        const auto far = is_coarse ? attempt(quotients, kFar, seen) : std::nullopt;
        const Attempt& telling = far && !far->moved ? *far : *found;
        look_at_zeros(claim, telling, safety * (telling.error + uncertainty));
        return;
    }
    // A slope that is nothing compared with f, or with its error, says nothing.
    constexpr double kOfSlope = 0.1;
    seen.is_open =
        along.vanishes || along.scale <= 8 * kEps * seen.usual || allowed > kOfSlope * along.scale;
    seen.beyond.resize(static_cast<std::size_t>(taken_) + 1, 0.0);
    seen.beyond.back() = std::max(seen.beyond.back(), allowed + found->error);
    seen.nothing_is_open = seen.nothing_is_open || group.of_claim[claim] < group.count;
    seen.claimed = along.slope;
    seen.last = {.numeric = found->value,
                 .error = found->error,
                 .tolerance = allowed,
                 .step = found->step,
                 .noise = found->rounding,
                 .above = quotients.value_at(found->step),
                 .below = quotients.value_at(-found->step)};
}

// Entries claimed 0, compared with the others, by evidence.cpp's measure; kMoved is stricter.
void JointDirections::look_at_zeros(std::size_t claim, const Attempt& found, double allowed) {
    constexpr double kMoved = 1e-13, kOfOthersMoved = 1e-8, kOfOthers = 1e-6;
    Seen& seen = seen_[claim];
    const double off = (allowed + found.error) / classes_[claim].classes.front().most;
    seen.nothing = std::max(seen.nothing, off / (found.moved ? kOfOthersMoved : kOfOthers));
    seen.nothing_is_open = seen.nothing_is_open || (found.moved && off > kMoved);
}

// An error of this many times what all directions agree to has been missed with the probability
// that as many random signs as were asked for have.
double JointDirections::factor(int taken) const {
    if (is_few_) return 1;
    return std::exp2(static_cast<double>(in_.directions) / std::max(taken, 1));
}

// The same of directions that agree to different b: the smallest e of which the product of b / e,
// over as many of the sharpest as are best, is that probability.
double JointDirections::missed(Values beyond) const {
    std::sort(beyond.begin(), beyond.end());
    if (beyond.empty() || is_few_) return beyond.empty() ? 0 : beyond.back();
    double least = std::numeric_limits<double>::infinity(), bits = in_.directions;
    for (std::size_t k = 0; k < beyond.size(); ++k) {
        if (beyond[k] == 0) return 0;
        bits += std::log2(beyond[k]);
        least =
            std::min(least, std::max(beyond[k], std::exp2(bits / (static_cast<double>(k) + 1))));
    }
    return least;
}

// How sharply a class must be seen for no further direction to be needed.
double JointDirections::enough_of(const Seen& one, std::size_t entries) const {
    const double resolution = in_.examination.limits.resolution, least = one.least[entries];
    if (least == 0) return resolution;
    const bool is_dear = only_ && (groups_[0].is_fitted || taken_ >= kUsualOfOne);
    return (is_dear ? resolution : kSharp) * least;
}

// A class that further directions of all do not show either is looked at by itself.
bool JointDirections::is_sharp() const {
    for (std::size_t k = 0; k < claims_.size(); ++k) {
        const auto& classes = classes_[k].classes;
        const Seen& one = seen_[k];
        for (std::size_t i = 0; i < classes.size() && !one.is_open; ++i) {
            if (only_.value_or(i) != i) continue;
            const bool zeros = classes[i].most == 0;
            if (!only_ && zeros && one.nothing_is_open) continue;
            const double off = zeros ? factor(taken_) * one.nothing : missed(one.beyond);
            const double shown =
                zeros ? in_.examination.limits.resolution : kFiveDigits * one.least[i];
            if (!only_ && factor(most_) * off > factor(taken_) * shown) continue;
            if (off > enough_of(one, i)) return false;
        }
    }
    return true;
}

ClassSeen JointDirections::seen(std::size_t claim, std::size_t entries) const {
    const Seen& seen = seen_[claim];
    const bool zeros = classes_[claim].classes[entries].most == 0;
    if (seen.is_open || (zeros && seen.nothing_is_open)) return {};
    const double resolution =
        zeros ? factor(taken_) * seen.nothing : missed(seen.beyond) / seen.least[entries];
    // A class by itself may be seen more sharply.
    const double enough = only_ || zeros ? in_.examination.limits.resolution : kFiveDigits;
    return {resolution <= enough, resolution};
}

SlopeReport JointDirections::slope(std::size_t claim) const {
    SlopeReport slope{.claimed = seen_[claim].claimed, .judgement = seen_[claim].last};
    slope.where = fmt::format("along random direction {}", taken_);
    if (claims_.size() > 1) slope.where += ", " + claims_[claim].of;
    return slope;
}

}  // namespace tapestry::checker
