#include <tapestry/autograd/check/noise.h>

#include <tapestry/autograd/check/extrapolate.h>

#include <algorithm>
#include <cmath>
#include <optional>

namespace tapestry::checker {
namespace {

using Values = std::vector<double>;

constexpr int kPoints = 9;
constexpr int kOrders = 6;                                   // of differences that are looked at
constexpr int kNearest = -44, kFarthest = -4, kFarther = 4;  // distances, as powers of 2

// <w, f> at `points` places, h apart; nothing if it is no number somewhere, or f is known to take
// other branches than at x: those jumps are no noise.
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

// The middle of `points` places next to x: x itself, but that at a bound they lie on one side of
// it.
double middle_next_to_x(const Line& line, double h, int points) {
    const double half = h * (points / 2);
    return half > line.reach() ? half * line.only_side() : 0;
}

void take_differences(Values& values) {
    for (std::size_t i = 0; i + 1 < values.size(); ++i) values[i] = values[i + 1] - values[i];
    values.pop_back();
}

// Of independent noise of variance s^2, differences of order k have the variance s^2 (2k)! /
// (k!)^2.
struct Level {
    double deviation = 0;
    bool changes_sign = false;  // as noise does, and what is smooth does not
};

std::vector<Level> levels_of(Values differences) {
    std::vector<Level> levels;
    double binomial = 1;  // (2k)! / (k!)^2
    for (int k = 1; k <= kOrders; ++k) {
        take_differences(differences);
        binomial *= 2.0 * (2 * k - 1) / k;
        double squares = 0;
        for (const double d : differences) squares += d * d;
        const auto [least, most] = std::minmax_element(differences.begin(), differences.end());
        levels.push_back({std::sqrt(squares / static_cast<double>(differences.size()) / binomial),
                          *least < 0 && *most > 0});
    }
    return levels;
}

// The first order from which on three say the same.
std::optional<double> noise_of(const Values& values) {
    const std::vector<Level> levels = levels_of(values);
    for (std::size_t k = 0; k + 2 < levels.size(); ++k) {
        const auto [least, most] =
            std::minmax({levels[k].deviation, levels[k + 1].deviation, levels[k + 2].deviation});
        if (most <= 4 * least && levels[k].changes_sign) return levels[k].deviation;
    }
    return {};
}

// Of a function that is constant for a while, and then not.
struct Jumps {
    int count = 0;
    double least = 0;
};

Jumps jumps_of(const Values& values) {
    Jumps jumps;
    for (std::size_t i = 0; i + 1 < values.size(); ++i) {
        const double jump = std::abs(values[i + 1] - values[i]);
        if (jump == 0) continue;
        jumps.least = jumps.count++ == 0 ? jump : std::min(jumps.least, jump);
    }
    return jumps;
}

// Looked at more and more closely. What is smooth dies away in differences of order 6, a kink
// becomes smaller with the distance of the points, a jump stays: as 10 times itself, in those
// differences that it is in the middle of.
double jump_within(Line& line, const std::vector<double>& weights, double noise, double h) {
    constexpr int kMany = 33, kOrder = 6, kTimes = 10, kCloser = 8;
    constexpr double kOfNoise = 128;  // differences of order 6 make 30 = sqrt(12! / 6!^2) of it
    double seen = 0;
    double middle = middle_next_to_x(line, h, kMany);
    for (int level = 0; level < kCloser; ++level) {
        const auto values = values_around(line, weights, middle, h, kMany);
        if (!values) return 0;
        Values differences = *values;
        for (int k = 0; k < kOrder; ++k) take_differences(differences);
        const auto largest =
            std::max_element(differences.begin(), differences.end(),
                             [](double a, double b) { return std::abs(a) < std::abs(b); });
        if (level > 0 && 4 * std::abs(*largest) < seen) return 0;
        if (std::abs(*largest) < kOfNoise * noise) return 0;
        seen = std::abs(*largest);
        const auto place = static_cast<double>(largest - differences.begin()) + kOrder / 2;
        middle += h * (place - kMany / 2);
        h /= 8;  // the four intervals around it become the next window
    }
    return seen / kTimes;
}

}  // namespace

double jump_along(Line& line, const std::vector<double>& weights, double noise) {
    double jump = 0;  // from far a jump may drown in what is smooth, from near be out of sight
    for (const int power : {-5, -6, -8}) {
        jump = std::max(jump, jump_within(line, weights, noise, std::ldexp(line.scale(), power)));
    }
    return jump;
}

double noise_along(Line& line, const std::vector<double>& weights) {
    double noise = 0;
    for (int power = kNearest; power <= kFarthest; power += kFarther) {
        const double h = std::ldexp(line.scale(), power);
        const auto values =
            values_around(line, weights, middle_next_to_x(line, h, kPoints), h, kPoints);
        if (!values) continue;
        const Jumps jumps = jumps_of(*values);
        if (2 * jumps.count >= kPoints) return std::max(noise, noise_of(*values).value_or(0));
        if (noise == 0) noise = jumps.least / 2;  // larger ones further out are a slope
    }
    return noise;
}

}  // namespace tapestry::checker
