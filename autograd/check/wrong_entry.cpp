#include <tapestry/autograd/check/wrong_entry.h>

#include <tapestry/autograd/check/quotients.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace tapestry::checker {
namespace {

constexpr std::uint64_t kSeed = 2024;
constexpr double kClearly = 8;  // times the error of a difference

class Bisection {
public:
    Bisection(Subject& subject, std::size_t which, const Neighbourhood& around,
              const ClaimedGradient& claim, const std::vector<double>& shares, double noise,
              std::uint64_t seed)
        : subject_(subject), which_(which), around_(around), claim_(claim), noise_(noise) {
        u_ = subject.direction(which, seed);
        for (std::size_t i = 0; i < shares.size(); ++i) u_[i] *= shares[i];
        // With signs only, two equal errors might cancel.
        const auto normal = random_weights(u_.size(), seed + 1);
        for (std::size_t i = 0; i < u_.size(); ++i)
            u_[i] *= 0.5 + 0.5 * std::exp(-std::abs(normal[i]));
    }

    /// Whether the claim is clearly off along the whole direction, for steps of this size. Also
    /// decides how differences are taken from now on: a single one if that is accurate enough.
    bool starts_with(double step) {
        const double claimed = claimed_of(0, u_.size());
        const Attempt whole = attempt(0, u_.size(), step);
        if (whole.obstacle != Reason::none || !whole.settled) return false;
        const double uncertain = claim_along(claim_, u_).uncertainty;
        apart_ = whole.value - claimed;
        error_ = whole.error + uncertain;
        step_ = step;
        levels_ = kLevels;
        for (std::size_t i = 0; i < whole.slopes.size(); ++i) {
            // The effect of truncation on one difference, doubled for safety.
            const double h = std::ldexp(step, -static_cast<int>(i));
            const double error =
                2 * std::abs(whole.slopes[i] - whole.value) + whole.rounding / h + uncertain;
            const bool enough = 2 * kClearly * error < std::abs(apart_);
            if (!enough || (levels_ == 1 && error >= error_)) continue;
            step_ = h;
            levels_ = 1;
            error_ = error;
        }
        return std::abs(apart_) > kClearly * error_;
    }

    /// Halves until one entry is left; nullopt if a difference cannot be taken, or if none shows
    /// the error of one entry among very many that are off by little.
    std::optional<WrongEntry> run() {
        auto found = descend(Towards::first);
        if (!found || apart_at_end_ <= kClearly * error_) {
            const double at_first = apart_at_end_;
            if (auto other = descend(Towards::most); other && apart_at_end_ > at_first) {
                found = std::move(other);
            }
        }
        return found;
    }

private:
    // If both halves are off: take the first one, or the one that is off by more.
    enum class Towards { first, most };

    std::optional<WrongEntry> descend(Towards towards) {
        WrongEntry found;
        apart_at_end_ = 0;
        std::size_t first = 0, last = u_.size();
        double apart = apart_;
        const double clear = kClearly / 2 * error_;
        while (last - first > 1) {
            const std::size_t middle = first + (last - first) / 2;
            const auto slope = slope_of(first, middle, step_);
            if (!slope) return {};
            const double left = *slope - claimed_of(first, middle), right = apart - left;
            if (std::max(std::abs(left), std::abs(right)) < error_) return {};  // lost in noise
            const bool in_left = std::abs(left) > std::abs(right) ||
                                 (towards == Towards::first && std::abs(left) > clear);
            if (in_left && std::abs(right) > clear && stays(middle, last, right)) ++found.seen;
            (in_left ? last : first) = middle;
            apart = in_left ? left : right;
        }
        apart_at_end_ = std::abs(apart);
        found.index = first;
        return found;
    }

    double claimed_of(std::size_t first, std::size_t last) const {
        double sum = 0;
        for (std::size_t i = first; i < last; ++i) sum += claim_.gradient[i] * u_[i];
        return sum;
    }

    Line line_of(std::size_t first, std::size_t last) {
        std::vector<double> part(u_.size(), 0.0);
        for (std::size_t i = first; i < last; ++i) part[i] = u_[i];
        return subject_.along(which_, std::move(part), 1);
    }

    Attempt attempt(std::size_t first, std::size_t last, double step) {
        Line line = line_of(first, last);
        Quotients quotients(line, claim_.weights, around_, claim_.here);
        quotients.set_least_noise(noise_);
        return quotients.central(step);
    }

    // Whether a part is still off by about as much for half the step. Truncation would shrink to a
    // quarter.
    bool stays(std::size_t first, std::size_t last, double apart) {
        const auto slope = slope_of(first, last, step_ / 2);
        return slope && std::abs(*slope - claimed_of(first, last)) > std::abs(apart) / 2;
    }

    // The slope along the entries from `first` up to but excluding `last`.
    std::optional<double> slope_of(std::size_t first, std::size_t last, double step) {
        if (levels_ > 1) {
            const Attempt part = attempt(first, last, step);
            if (part.obstacle != Reason::none) return {};
            return part.value;
        }
        Line line = line_of(first, last);
        const Sample &above = line.at(step), &below = line.at(-step);
        const auto& w = claim_.weights;
        const bool smooth =
            above.branch == around_.base.branch && below.branch == around_.base.branch;
        if (!smooth || !finite(w, above) || !finite(w, below)) return {};
        return weighted_difference(w, above.values, below.values) / (2 * step);
    }

    Subject& subject_;
    std::size_t which_;
    const Neighbourhood& around_;
    const ClaimedGradient& claim_;
    double noise_;
    std::vector<double> u_;
    double apart_ = 0;         // numeric - claimed, along u
    double apart_at_end_ = 0;  // |numeric - claimed| at the entry where the last descent ended
    double error_ = 0;
    double step_ = 0;
    int levels_ = kLevels;  // number of steps per difference
};

// NaN and infinity need no measuring.
std::optional<WrongEntry> first_not_finite(const std::vector<double>& gradient) {
    const auto is_bad = [](double slope) { return !std::isfinite(slope); };
    const auto first = std::find_if(gradient.begin(), gradient.end(), is_bad);
    if (first == gradient.end()) return {};
    return WrongEntry{static_cast<std::size_t>(first - gradient.begin()),
                      static_cast<int>(std::count_if(first, gradient.end(), is_bad))};
}

}  // namespace

std::optional<SlopeReport> WrongEntrySearch::look(Line& line, const ClaimedGradient& claim,
                                                  const Claim& along, const HiddenNoise& hidden) {
    if (examination_.fixed || looked_ || !std::isfinite(along.slope)) return {};
    Quotients quotients(line, claim.weights, around_, claim.here);
    const double step = along.usual_step > 0 ? along.usual_step : std::ldexp(line.scale(), -7);
    const auto difference = [&] { return quotients.central(step); };
    const auto seems_right = [&](const Attempt& a) {
        const double apart = std::abs(a.value - along.slope);
        return apart <= kClearly * (a.error + along.uncertainty) ||
               apart <= examination_.limits.agreement * std::abs(along.slope);
    };
    const Attempt first = difference();
    if (first.obstacle != Reason::none || (first.settled && seems_right(first))) return {};
    quotients.set_least_noise(hidden(Jumps::none));
    const Attempt again = difference();
    if (!again.settled || seems_right(again)) return {};
    looked_ = true;
    apart_ = std::abs(again.value - along.slope) / along.scale;
    auto slope = judge_as_factor(claim, part_of(along, again), hidden);
    return slope ? slope : locate(claim, hidden);
}

// A factor common to all entries is the same along every direction. Two more differences show it,
// where halving a direction, along which every part is off, would take about forty; and one entry
// of very many is measured less accurately than all of them together.
std::optional<SlopeReport> WrongEntrySearch::judge_as_factor(const ClaimedGradient& claim,
                                                             const Part& seen,
                                                             const HiddenNoise& hidden) {
    constexpr double kLeast = 1e-6;  // no mistake is smaller
    constexpr double kAlike = 1e-3, kSharp = 1e-2;
    constexpr std::size_t kMany = 4096;  // below, a wrong entry shows more
    if (claim.gradient.size() <= kMany || !std::isfinite(seen.off)) return {};
    if (!(std::abs(seen.off) > kLeast && seen.error <= kSharp * std::abs(seen.off))) return {};
    const auto is_like_seen = [&](Line& line, const Claim& along) {
        Quotients quotients(line, claim.weights, around_, claim.here);
        quotients.set_least_noise(hidden(Jumps::none));
        const Attempt attempt = quotients.central(std::ldexp(line.scale(), -7));
        if (attempt.obstacle != Reason::none || !attempt.settled) return false;
        const Part part = part_of(along, attempt);
        return part.error <= kSharp * std::abs(part.off) &&
               std::abs(part.off - seen.off) <= kAlike * std::abs(seen.off) + part.error;
    };
    const std::vector<double> u = subject_.direction(which_, kSeed);
    Line line = subject_.along(which_, u, 1);
    if (!is_like_seen(line, claim_along(claim, u))) return {};
    // Uphill by the claim: no two terms cancel, so the sum is well above rounding.
    std::vector<double> uphill = u, steepness(u.size());
    for (std::size_t i = 0; i < u.size(); ++i) {
        uphill[i] = std::copysign(u[i], claim.gradient[i]);
        steepness[i] = std::abs(claim.gradient[i] * u[i]);
    }
    Line up = subject_.along(which_, uphill, 1);
    const Claim all = claim_along(claim, uphill);
    if (!is_like_seen(up, all)) return {};
    SlopeReport slope{.where = "uphill along all entries", .claimed = all.slope};
    // Jumps hidden nearby would not have left the same factor three times.
    const HiddenNoise usual_noise = [&](Jumps) { return hidden(Jumps::none); };
    slope.judgement = examine(up, claim.weights, around_, all, examination_, false, usual_noise);
    if (slope.judgement.verdict != Verdict::fail) return {};
    const double usual = std::accumulate(steepness.begin(), steepness.end(), 0.0) /
                         static_cast<double>(steepness.size());
    const auto is_steep = [usual](double size) { return size >= 0.99 * usual; };
    const auto first = std::find_if(steepness.begin(), steepness.end(), is_steep);
    report_.wrong = static_cast<int>(std::count_if(first, steepness.end(), is_steep));
    report_.first_wrong = static_cast<std::size_t>(first - steepness.begin());
    report_.one_factor = true;
    return slope;
}

WrongEntrySearch::Part WrongEntrySearch::part_of(const Claim& along, const Attempt& attempt) {
    return {attempt.value / along.slope - 1,
            (attempt.error + along.uncertainty) / std::abs(along.slope)};
}

std::optional<SlopeReport> WrongEntrySearch::locate(const ClaimedGradient& claim,
                                                    const HiddenNoise& hidden) {
    if (sought_ == &claim) return {};
    sought_ = &claim;
    auto found = first_not_finite(claim.gradient);
    if (!found && !examination_.fixed) {
        found =
            find_wrong_entry(subject_, which_, around_, claim, shares_, hidden(Jumps::none), kSeed);
    }
    if (!found) return {};
    SlopeReport slope =
        examine_entry(subject_, which_, found->index, around_, claim, examination_, hidden);
    if (slope.judgement.verdict != Verdict::fail) return {};
    report_.wrong = found->seen;
    report_.first_wrong = found->index;
    return slope;
}

std::optional<WrongEntry> find_wrong_entry(Subject& subject, std::size_t which,
                                           const Neighbourhood& around,
                                           const ClaimedGradient& claim,
                                           const std::vector<double>& shares, double noise,
                                           std::uint64_t seed) {
    constexpr int kTries = 2;  // directions: along one of them errors may cancel
    for (std::uint64_t k = 0; k < kTries; ++k) {
        Bisection bisection(subject, which, around, claim, shares, noise, seed + 2 * k);
        for (const int power : {-7, -13, -1, -19}) {
            if (!bisection.starts_with(std::ldexp(1.0, power))) continue;
            if (auto found = bisection.run()) return found;
        }
    }
    return {};
}

}  // namespace tapestry::checker
