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
// A part of f that shows in six digits of it.
constexpr double kSixDigits = 0x1p-20;

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
    constexpr double kClearly = 16, kFarther = 64;
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

bool Quotients::is_flat_within(double step, double claimed) {
    const double missing = std::abs(claimed) * step;
    if (missing <= kSixDigits * size_of(w_, around_.base.values)) return false;
    for (double t = 2 * step; t <= line_.scale() && t <= line_.reach(); t *= 2) {
        const Sample &above = line_.at(t), &below = line_.at(-t);
        if (!finite(w_, above) || !finite(w_, below)) return false;
        if (!moves(above, around_.base) && !moves(below, around_.base)) continue;
        return moves_finely(t, step, missing);
    }
    return false;
}

// Whether each output that has moved at t or -t moves there, where x moves by a part of h, by much
// less than `missing`; and one has moved. One that is rounded stands still there, or moves by a
// whole step.
bool Quotients::moves_finely(double t, double h, double missing) {
    constexpr double kMuchLess = 0.25;
    if (t > line_.reach()) return false;
    const Sample &above = line_.at(t), &below = line_.at(-t);
    std::vector<double> most(w_.size());
    for (const double from : {t, -t, 0.7 * t, -0.7 * t}) {
        for (const double part : {h / 256, h / 300}) {
            const Sample& there = line_.at(from);
            const Sample& beside = line_.at(from - std::copysign(part, from));
            if (!finite(w_, there) || !finite(w_, beside)) return false;
            for (std::size_t i = 0; i < w_.size(); ++i) {
                const double moved = std::abs(w_[i] * (beside.values[i] - there.values[i]));
                most[i] = std::max(most[i], moved);
            }
        }
    }
    bool any = false;
    for (std::size_t i = 0; i < w_.size(); ++i) {
        const double base = around_.base.values[i];
        if (w_[i] == 0 || (above.values[i] == base && below.values[i] == base)) continue;
        if (most[i] == 0 || most[i] > kMuchLess * missing) return false;
        any = true;
    }
    return any;
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

bool Quotients::follows_far_below(double claimed, double seen) {
    if (!std::isfinite(claimed)) return false;
    constexpr double kAlike = 0.02, kTimesNoise = 16;
    constexpr int kBelow = -48, kTimes = -16, kLast = -976;  // powers of 2, times the scale
    for (int power = kBelow; power >= kLast; power += kTimes) {
        const Attempt near = central(std::ldexp(line_.scale(), power));
        if (near.obstacle != Reason::none || !near.moved) return false;  // or x is not 0
        const auto are = [&near](double slope) {
            const Slopes& all = near.slopes;
            return std::all_of(all.begin(), all.end(), [slope](double one) {
                return std::abs(one - slope) <= kAlike * std::abs(slope);
            });
        };
        if (are(seen)) return false;
        if (!are(claimed)) continue;
        const double finest = std::ldexp(near.step, 1 - kLevels);
        return kTimesNoise * near.rounding < std::abs(claimed) * finest;
    }
    return false;
}

bool Quotients::hides_in_last_bits(double step, double claimed, double seen) {
    constexpr int kDoublings = 6;
    constexpr double kTimes = 4;
    const Sample &over = line_.at(step), &under = line_.at(-step);
    std::vector<std::size_t> still;
    for (std::size_t i = 0; i < w_.size(); ++i) {
        if (w_[i] != 0 && over.values[i] == under.values[i]) still.push_back(i);
    }
    double slope = 0, first = 0;  // of these outputs, and where the first begins to move
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
        if (slope > 0 && first == 0) first = h;
    }
    const double missing = std::abs(claimed - seen) * step;
    if (first > 0 && moves_finely(first, step, missing)) return false;
    return std::abs(claimed - seen) < kTimes * slope;
}

}  // namespace tapestry::checker
