#include <tapestry/autograd/check/below_rounding.h>

#include <tapestry/autograd/check/quotients.h>

#include <algorithm>
#include <cmath>
#include <optional>

namespace tapestry::checker {
namespace {

// |<w, f(t) - f(-t)>|, of which terms that are even in t have no part, as they have none in the
// slope; nullopt where f takes another branch or is not finite.
std::optional<double> change_at(Line& line, const std::vector<double>& w,
                                const Neighbourhood& around, double t) {
    const Sample &above = line.at(t), &below = line.at(-t);
    const bool same = above.branch == around.base.branch && below.branch == around.base.branch;
    if (!same || !finite(w, above) || !finite(w, below)) return {};
    return std::abs(weighted_difference(w, above.values, below.values));
}

bool is_rounding(const Claim& claim) {
    return std::abs(claim.slope) <= kRounding * claim.uncertainty;
}

void leave_open(Judgement& judgement) {
    judgement.verdict = Verdict::inconclusive;
    judgement.reason = Reason::roundoff;
    judgement.below_rounding = true;
}

}  // namespace

bool is_below_rounding(const Claim& claim, const Judgement& judgement,
                       const GradcheckLimits& limits) {
    if (!claim.alone || claim.share > 0 || judgement.subgradient || is_rounding(claim))
        return false;
    return judgement.tolerance + judgement.error > limits.resolution * std::abs(claim.slope);
}

bool grows_out_of_rounding(Line& line, const std::vector<double>& weights,
                           const Neighbourhood& around) {
    constexpr double kSeen = 4, kJump = 64, kClearly = 1024;  // times the rounding of a value
    constexpr double kAtOnce = 1.0 / 32;  // of the distance at which f begins to move
    constexpr int kHalvings = 16;
    const double noise = Quotients(line, weights, around).noise_here();
    const auto moved = [&](double t) { return change_at(line, weights, around, t); };
    double low = std::ldexp(line.scale(), -7);
    double high = std::min(line.reach(), line.scale() / 2) * (1 - 2 * kAtOnce);
    if (!(low < high)) return false;
    const auto near = moved(low);
    if (!near || *near > kSeen * noise) return false;
    std::optional<double> far = moved(high);
    for (int i = 0; i < 3 && !far; ++i) far = moved(high /= 2);
    if (!far || *far <= kSeen * noise || !(low < high)) return false;
    for (int i = 0; i < kHalvings; ++i) {
        const double middle = (low + high) / 2;
        const auto there = moved(middle);
        if (!there) return false;
        (*there > kSeen * noise ? high : low) = middle;
        if (*there > kSeen * noise) far = there;
    }
    if (*far > kJump * noise) return false;
    const auto beyond = moved(high * (1 + kAtOnce));
    return beyond && *beyond <= kClearly * noise;
}

void leave_open_if_below_rounding(Line& line, const std::vector<double>& weights,
                                  const Neighbourhood& around, const Claim& claim,
                                  const Examination& examination, Judgement& judgement) {
    const GradcheckLimits& limits = examination.limits;
    const bool opaque = !limits.lost_may_pass && !examination.fixed;
    if (!opaque || judgement.verdict != Verdict::pass) return;
    if (is_below_rounding(claim, judgement, limits)) {
        leave_open(judgement);
    } else if (claim.share == 0 && is_rounding(claim) && !judgement.subgradient &&
               grows_out_of_rounding(line, weights, around)) {
        leave_open(judgement);
    }
}

void ShownEntries::note(std::size_t entry, const SlopeReport& slope) {
    if (entries_.empty() || entries_.back().number != entry) entries_.push_back({.number = entry});
    Entry& one = entries_.back();
    const Judgement& judgement = slope.judgement;
    one.size = std::max(one.size, std::abs(slope.claimed));
    one.is_lost = one.is_lost || judgement.below_rounding;
    one.is_open = one.is_open || judgement.verdict == Verdict::inconclusive;
    if (judgement.verdict == Verdict::pass) {
        one.resolution = std::max(one.resolution, judgement.resolution);
    }
}

void ShownEntries::state(InputReport& report) const {
    const bool any_lost =
        std::any_of(entries_.begin(), entries_.end(), [](const Entry& one) { return one.is_lost; });
    if (!any_lost || report.verdict == Verdict::fail) return;
    ClassReport shown, open;
    for (const Entry& one : entries_) {
        ClassReport& all = one.is_open ? open : shown;
        all.least = all.entries++ > 0 ? std::min(all.least, one.size) : one.size;
        all.most = std::max(all.most, one.size);
        if (!one.is_open) all.resolution = std::max(all.resolution, one.resolution);
    }
    if (shown.entries > 0) report.classes.push_back(shown);
    report.classes.push_back(open);
}

}  // namespace tapestry::checker
