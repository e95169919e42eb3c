#include <tapestry/autograd/check/joint_directions.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

namespace tapestry::checker {
namespace {

constexpr int kFewestOfAll = 3, kMostOfAll = 5, kMostOfOne = 8;  // directions
constexpr std::size_t kMostGroups = 8;
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
    const int most = std::min(only_ ? kMostOfOne : kMostOfAll, in_.directions);
    while (taken_ < most) {
        auto u = std::make_shared<Values>(
            random_parts(steps_.size(), in_.seed + static_cast<std::uint64_t>(taken_)));
        multiply(*u, steps_);
        for (std::size_t g = 0; g < groups_.size(); ++g) {
            if (groups_[g].count == 0) continue;
            auto within = u;
            if (!group_of_.empty()) {
                within = std::make_shared<Values>(*u);
                for (std::size_t i = 0; i < u->size(); ++i) {
                    (*within)[i] = group_of_[i] == g ? (*within)[i] : 0.0;
                }
            }
            Line line = in_.subject.along(in_.which, within, 1);
            if (!look_along(line, *within, g)) return false;
        }
        if (++taken_ >= std::min(kFewestOfAll, most) && is_sharp()) break;
    }
    return true;
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

// Rounding shrinks with larger steps, truncation with smaller ones: the better of the usual one,
// larger and smaller ones.
double JointDirections::step_for(Quotients& quotients, const Claim& along, std::size_t claim) {
    constexpr int kUsual = -7, kFactor = 3;
    Seen& seen = seen_[claim];
    auto found = attempt(quotients, std::ldexp(1, kUsual), seen);
    int best = kUsual;
    if (!found || along.slope == 0) return std::ldexp(1, kUsual);
    const auto off = [&] {
        const double safety = in_.examination.limits.safety;
        return (1 + safety) * found->error + safety * along.uncertainty;
    };
    const double least = seen.least[only_.value_or(0)];
    const auto climbs = [&](int by) {
        while (factor(kFewestOfAll) * off() > kSharp * least && std::abs(best) < 12) {
            const auto other = attempt(quotients, std::ldexp(1, best + by), seen);
            if (!other || !(2 * other->error < found->error)) return;
            found = other;
            best += by;
            if (best + by >= 0) return;
        }
    };
    climbs(kFactor);
    if (best == kUsual) climbs(-kFactor);
    if (factor(only_ ? kMostOfOne : kMostOfAll) * off() > in_.examination.limits.resolution * least)
        seen.is_open = true;
    return std::ldexp(1, best);
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
        if (groups_[group].step == 0) groups_[group].step = step_for(quotients, along, k);
        if (seen_[k].is_open) continue;
        look_at(quotients, along, k, groups_[group]);
        any = any || !seen_[k].is_open;
    }
    return any;
}

void JointDirections::look_at(Quotients& quotients, const Claim& along, std::size_t claim,
                              const Group& group) {
    Seen& seen = seen_[claim];
    const double safety = in_.examination.limits.safety;
    const auto found = attempt(quotients, group.step, seen);
    const bool zeros = group.of_claim[claim] == 0;
    double uncertainty = along.uncertainty;
    if (zeros) {
        const double size =
            classes_[claim].classes.front().most * std::sqrt(static_cast<double>(group.count));
        uncertainty = std::max(uncertainty, kEps * size);
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
    seen.beyond = std::max(seen.beyond, allowed + found->error);
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
    return std::exp2(static_cast<double>(in_.directions) / std::max(taken, 1));
}

bool JointDirections::is_sharp() const {
    for (std::size_t k = 0; k < claims_.size(); ++k) {
        const auto& classes = classes_[k].classes;
        const Seen& one = seen_[k];
        for (std::size_t i = 0; i < classes.size() && !one.is_open; ++i) {
            if (only_.value_or(i) != i) continue;
            const bool zeros = classes[i].most == 0;
            const double off = zeros ? one.nothing : one.beyond;
            const double enough = zeros ? in_.examination.limits.resolution : kSharp * one.least[i];
            if (factor(taken_) * off > enough) return false;
        }
    }
    return true;
}

ClassSeen JointDirections::seen(std::size_t claim, std::size_t entries) const {
    const Seen& seen = seen_[claim];
    const bool zeros = classes_[claim].classes[entries].most == 0;
    if (seen.is_open || (zeros && seen.nothing_is_open)) return {};
    const double off = zeros ? seen.nothing : seen.beyond / seen.least[entries];
    const double resolution = factor(taken_) * off;
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
