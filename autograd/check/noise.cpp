#include <tapestry/autograd/check/noise.h>

#include <tapestry/autograd/check/quotients.h>
#include <tapestry/autograd/check/values.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace tapestry::checker {
namespace {

constexpr int kPoints = 9;
constexpr int kOrders = 6;                                   // of differences
constexpr int kNearest = -44, kFarthest = -4, kFarther = 4;  // distances, as powers of 2

// <w, f> at `points` places, h apart; nullopt if it is not finite somewhere, or if f is known to
// take other branches than at x: those jumps are not noise.
std::optional<Values> values_around(Line& line, const Values& w, double middle, double h,
                                    int points) {
    Values values;
    for (int i = -points / 2; i <= points / 2; ++i) {
        const Sample& there = line.at(middle + i * h);
        if (!finite(w, there) || there.branch != line.at(0).branch) return {};
        values.push_back(weighted(w, there.values));
    }
    return values;
}

// The middle of `points` places next to x: x itself, except at a bound, where they are on one side
// of it.
double middle_next_to_x(const Line& line, double h, int points) {
    const double half = h * (points / 2);
    return half > line.reach() ? half * line.only_side() : 0;
}

void take_differences(Values& values) {
    for (std::size_t i = 0; i + 1 < values.size(); ++i) values[i] = values[i + 1] - values[i];
    values.pop_back();
}

// For independent noise of variance s^2, differences of order k have the variance s^2 (2k)! /
// (k!)^2.
struct Level {
    double deviation = 0;
    bool changes_sign = false;  // as noise does, and smooth functions do not
};

std::vector<Level> levels_of(Values differences) {
    std::vector<Level> levels;
    double unit = 0;  // squares of numbers beyond 1e154 are not finite
    for (const double value : differences) unit = std::max(unit, std::abs(value));
    for (double& value : differences) value /= unit;
    double binomial = 1;  // (2k)! / (k!)^2
    for (int k = 1; k <= kOrders; ++k) {
        take_differences(differences);
        binomial *= 2.0 * (2 * k - 1) / k;
        double squares = 0;
        for (const double d : differences) squares += d * d;
        const auto [least, most] = std::minmax_element(differences.begin(), differences.end());
        levels.push_back(
            {unit * std::sqrt(squares / static_cast<double>(differences.size()) / binomial),
             *least < 0 && *most > 0});
    }
    return levels;
}

// The first order from which three in a row agree.
std::optional<double> noise_of(const Values& values) {
    const std::vector<Level> levels = levels_of(values);
    for (std::size_t k = 0; k + 2 < levels.size(); ++k) {
        const auto [least, most] =
            std::minmax({levels[k].deviation, levels[k + 1].deviation, levels[k + 2].deviation});
        if (most <= 4 * least && levels[k].changes_sign) return levels[k].deviation;
    }
    return {};
}

// The jumps of a function that is constant over stretches.
struct JumpCount {
    int count = 0;
    double least = 0;
};

JumpCount jumps_of(const Values& values) {
    JumpCount jumps;
    for (std::size_t i = 0; i + 1 < values.size(); ++i) {
        const double jump = std::abs(values[i + 1] - values[i]);
        if (jump == 0) continue;
        jumps.least = jumps.count++ == 0 ? jump : std::min(jumps.least, jump);
    }
    return jumps;
}

}  // namespace

namespace {

constexpr int kWindow = 33;  // places

// Whether the values run off to a pole or a logarithm's end at their largest difference: to both
// sides of it the differences shrink from place to place, as those of 1 / t and of log |t| do, but
// not those of a jump, around which only rounding is left.
bool is_singular(Values values, std::ptrdiff_t place) {
    constexpr std::ptrdiff_t kBeside = 3, kInARow = 6;
    take_differences(values);
    const auto count = static_cast<std::ptrdiff_t>(values.size());
    for (const std::ptrdiff_t side : {-1, 1}) {
        for (std::ptrdiff_t k = 0; k < kInARow; ++k) {
            const std::ptrdiff_t near = place + side * (kBeside + k), far = near + side;
            if (std::min(near, far) < 0 || std::max(near, far) >= count) break;
            const auto size = [&](std::ptrdiff_t i) {
                return std::abs(values[static_cast<std::size_t>(i)]);
            };
            if (!(size(near) > size(far))) return false;
        }
    }
    return true;
}

// A jump, or the place of a pole where one was looked for.
struct Jump {
    double size = 0;
    std::optional<double> pole = {};
};

// Looks more and more closely, first at all from `from` to `to`. Smooth parts vanish in differences
// of order 6, a kink shrinks with the distance of the points, a jump stays: as 10 times itself, in
// the differences centred on it. Where jumps are everywhere, their sums are a few times as large at
// first.
Jump jump_between(Line& line, const Values& weights, double noise, double from, double to) {
    constexpr int kOrder = 6, kTimes = 10, kCloser = 12;
    constexpr double kOfNoise = 128;  // differences of order 6 amplify it by 30 = sqrt(12! / 6!^2)
    constexpr double kSums = 16;
    double middle = from + (to - from) / 2, h = (to - from) / (kWindow - 1);
    double seen = 0, most = 0;
    for (int level = 0; level < kCloser; ++level) {
        const auto values = values_around(line, weights, middle, h, kWindow);
        if (!values) return {};
        Values differences = *values;
        for (int k = 0; k < kOrder; ++k) take_differences(differences);
        const auto largest =
            std::max_element(differences.begin(), differences.end(),
                             [](double a, double b) { return std::abs(a) < std::abs(b); });
        most = std::max(most, std::abs(*largest));
        if (kSums * std::abs(*largest) < most) return {};
        if (std::abs(*largest) < kOfNoise * noise) return {};
        seen = std::abs(*largest);
        const auto place = largest - differences.begin() + kOrder / 2;
        middle += h * static_cast<double>(place - kWindow / 2);
        if (level + 1 == kCloser && is_singular(*values, place)) return {0, middle};
        h /= 8;  // the next window is the four intervals around it
    }
    return {seen / kTimes};
}

Jump jump_up_to(Line& line, const Values& weights, double noise, double far) {
    return jump_between(line, weights, noise, -std::min(far, line.reach(-1)),
                        std::min(far, line.reach(1)));
}

// The largest jump up to `far`; if a pole hides smaller ones, up to half of the way to it.
struct Nearby {
    double far = 0, jump = 0;
};

Nearby jump_before_poles(Line& line, const Values& weights, double noise, double far) {
    const Jump found = jump_up_to(line, weights, noise, far);
    if (!found.pole) return {far, found.size};
    const double near = std::min(far, std::abs(*found.pole) / 2);
    return {near, jump_up_to(line, weights, noise, near).size};
}

}  // namespace

double jump_within(Line& line, const std::vector<double>& weights, double noise, double far) {
    return jump_before_poles(line, weights, noise, far).jump;
}

double jump_on_both_sides(Line& line, const std::vector<double>& weights, double noise,
                          double far) {
    constexpr double kWider = 4;
    const auto [near, any] = jump_before_poles(line, weights, noise, far);
    if (any == 0 || near > line.reach()) return any;
    // They may lie closer together on one side, as those of a rounded x^2.
    const double farthest = near < far ? near : std::min(line.reach(), line.scale());
    double above = 0, below = 0;
    for (double to = near;; to = std::min(kWider * to, farthest)) {
        if (above == 0) above = jump_between(line, weights, noise, 0, to).size;
        if (below == 0) below = jump_between(line, weights, noise, -to, 0).size;
        if (above > 0 && below > 0) return std::max(above, below);
        if (to >= farthest) return 0;
    }
}

double jump_along(Line& line, const std::vector<double>& weights, Jumps jumps, double noise) {
    if (jumps == Jumps::none) return 0;
    if (jumps == Jumps::everywhere) {
        return jump_on_both_sides(line, weights, noise, std::ldexp(line.scale(), -2));
    }
    double jump = 0;  // from afar it may drown in smooth parts, closer it may be missed
    for (const int power : {-5, -6, -8}) {
        const double far = kWindow / 2 * std::ldexp(line.scale(), power);
        jump = std::max(jump, jump_within(line, weights, noise, far));
    }
    return jump;
}

namespace {

// Whether f, constant next to x, is beyond a kink at the nearest of these places that differs from
// x. The place where it begins to move is found by halving: behind a kink f moves in proportion.
bool leaves_gradually(Line& line, const Values& w, const Values& values, double middle, double h) {
    constexpr int kHalvings = 26;
    constexpr double kBeyond = 16, kInProportion = 0.125;
    double still = 0, moved = std::numeric_limits<double>::infinity();
    const double base = weighted(w, line.at(0).values);
    const auto by = [&](double t) { return std::abs(weighted(w, line.at(t).values) - base); };
    for (int i = 0; i < kPoints; ++i) {
        const double t = middle + (i - kPoints / 2) * h;
        const bool differs = values[static_cast<std::size_t>(i)] != base;
        if (differs && std::abs(t) < std::abs(moved)) moved = t;
    }
    for (int k = 0; k < kHalvings; ++k) {
        const double t = still + (moved - still) / 2;
        (by(t) == 0 ? still : moved) = t;
    }
    return by(moved) < kInProportion * by(moved + kBeyond * (moved - still));
}

}  // namespace

double noise_along(Line& line, const std::vector<double>& weights) {
    double noise = 0;
    bool moves = false, was_constant = false;
    for (int power = kNearest; power <= kFarthest; power += kFarther) {
        const double h = std::ldexp(line.scale(), power);
        const double middle = middle_next_to_x(line, h, kPoints);
        const auto values = values_around(line, weights, middle, h, kPoints);
        if (!values) continue;
        const JumpCount jumps = jumps_of(*values);
        // What was constant up to a smaller distance cannot move by less than its jumps.
        if (was_constant && noise == 0 && jumps.count > 0) {
            if (leaves_gradually(line, weights, *values, middle, h)) return 0;
            noise = jumps.least / 2;
        }
        if (2 * jumps.count >= kPoints) return std::max(noise, noise_of(*values).value_or(0));
        was_constant = was_constant || jumps.count == 0;
        moves = moves || jumps.count > 0;
        if (noise == 0) noise = jumps.least / 2;  // larger ones further out are due to the slope
    }
    return moves ? noise : -1;
}

}  // namespace tapestry::checker
