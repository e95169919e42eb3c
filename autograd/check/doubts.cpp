// Reasons to doubt that a claim is wrong where differences from afar contradict it: how f moves
// next to x. Implements the last part of quotients.h.
#include <tapestry/autograd/check/quotients.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace tapestry::checker {
namespace {

// A part of f that is more than it rounds.
constexpr double kMoreThanRounding = 64 * kEps;

}  // namespace

bool Quotients::is_fine_grained(double noise, double claimed, double seen) {
    constexpr double kMuchLess = 0.125, kMore = 4, kClose = 1e-4, kFallsShort = 64;
    const double least = kMoreThanRounding * size_of(w_, around_.base.values);
    if (least >= kMuchLess * noise || std::abs(claimed - seen) <= kClose * std::abs(seen))
        return false;
    double most = 0;
    for (const double t : {kEps, 2 * kEps, -kEps, -2 * kEps}) {
        const Sample& there = line_.at(t * line_.scale());
        if (!finite(w_, there)) return false;
        most = std::max(most, std::abs(weighted_difference(w_, there.values, around_.base.values)));
    }
    const bool along_seen = most <= kMore * std::abs(seen) * 2 * kEps * line_.scale();
    const bool along_claim = kFallsShort * most > std::abs(claimed) * kEps * line_.scale();
    return most > least && most < kMuchLess * noise && !along_seen && along_claim;
}

bool Quotients::has_ripples(double claimed, double seen) {
    constexpr double kClearly = 16;
    const double apart = std::abs(claimed - seen);
    for (const int power : {-25, -19, -31}) {
        const Attempt near = central(std::ldexp(line_.scale(), power));
        const bool sees = near.obstacle == Reason::none && near.settled && near.moved;
        if (!sees || kClearly * near.error > apart) continue;
        return kClearly * std::abs(near.value - claimed) < apart;
    }
    return false;
}

bool Quotients::stands_still(double claimed, double seen) {
    constexpr double kClearly = 16, kSixDigits = 0x1p-20, kFarther = 64;
    if (kClearly * std::abs(claimed) >= std::abs(seen)) return false;
    const double size = size_of(w_, around_.base.values);
    for (const int power : {-7, -13, -19, -25, -31}) {
        const double h = std::ldexp(line_.scale(), power), missing = std::abs(seen) * h;
        if (h > line_.reach()) continue;
        const Sample &above = line_.at(h), &below = line_.at(-h);
        if (!finite(w_, above) || !finite(w_, below)) return false;
        if (moves(above, around_.base) || moves(below, around_.base)) continue;
        return missing > kSixDigits * size ||
               (missing > kMoreThanRounding * size && moves_finely(kFarther * h, h, missing));
    }
    return false;
}

bool Quotients::is_bent_inside(double step, double claimed, double seen) {
    constexpr double kClearly = 4, kTimesNoise = 16;
    const double apart = std::abs(claimed - seen);
    for (const int power : {-19, -25, -31}) {
        const double h = std::ldexp(line_.scale(), power);
        if (h > step / 8) continue;
        const Attempt near = central(h);
        if (near.obstacle != Reason::none) continue;
        // By which f leaves the line of slope `seen`.
        double least = std::numeric_limits<double>::infinity();
        for (int i = 0; i < kLevels; ++i) {
            const double t = std::ldexp(h, -i);
            const double off = std::abs(near.slopes[static_cast<std::size_t>(i)] - seen);
            if (kClearly * off < apart || off * t < kTimesNoise * near.rounding) return false;
            least = std::min(least, off * t);
        }
        if (moves_finely(h, h, least)) return true;
    }
    return false;
}

// Whether f moves by much less than `missing` where x, next to t and -t, moves by a part of h. A
// rounded f stands still there or moves by a whole step.
bool Quotients::moves_finely(double t, double h, double missing) {
    constexpr double kMuchLess = 0.25;
    if (t + h > line_.reach()) return false;
    bool moves = false;
    for (const double from : {t, -t, 0.7 * t, -0.7 * t}) {
        for (const double part : {h / 256, h / 300}) {
            const Sample &there = line_.at(from), &beside = line_.at(from + part);
            if (!finite(w_, there) || !finite(w_, beside)) return false;
            const double moved = std::abs(weighted_difference(w_, beside.values, there.values));
            if (moved > kMuchLess * missing) return false;
            moves = moves || moved > 0;
        }
    }
    return moves;
}

bool Quotients::follows_neighbours(double claimed, double seen) {
    constexpr double kAlike = 0.02;
    const double least = kMoreThanRounding * size_of(w_, around_.base.values);
    const double last_bit = std::ldexp(1, std::ilogb(scale()) - 52);
    // A steep f whose argument is rounded may follow any slope by one number, but not by each.
    for (const int bits : {1, 2, 5, 13}) {
        const double t = bits * last_bit;
        const Sample &above = line_.at(t), &below = line_.at(-t);
        if (t > line_.reach() || !finite(w_, above) || !finite(w_, below)) return false;
        const double moved = weighted_difference(w_, above.values, below.values);
        const auto is_alike = [&, t = t](double slope) {
            return std::abs(moved - slope * 2 * t) <= kAlike * std::abs(moved);
        };
        // Both slopes may fit: then a last bit cannot tell them apart.
        if (!is_alike(claimed) || is_alike(seen) || std::abs(moved) <= least) return false;
    }
    return true;
}

bool Quotients::hides_in_last_bits(double step, double claimed, double seen) {
    constexpr int kDoublings = 6;
    constexpr double kTimes = 4;
    const Sample &over = line_.at(step), &under = line_.at(-step);
    std::vector<std::size_t> still;
    for (std::size_t i = 0; i < w_.size(); ++i) {
        if (w_[i] != 0 && over.values[i] == under.values[i]) still.push_back(i);
    }
    double slope = 0;  // of these outputs, where they begin to move
    for (int power = 1; power <= kDoublings && !still.empty(); ++power) {
        const double h = std::ldexp(step, power);
        if (h > line_.reach()) break;
        const Sample &above = line_.at(h), &below = line_.at(-h);
        if (!finite(w_, above) || !finite(w_, below)) break;
        std::erase_if(still, [&](std::size_t i) {
            const double moved = std::abs(above.values[i] - below.values[i]);
            slope += std::abs(w_[i]) * moved / (2 * h);
            return moved != 0;
        });
    }
    return std::abs(claimed - seen) < kTimes * slope;
}

}  // namespace tapestry::checker
