// Plain functions that are right but hard, sampled by seed, and the counts of their verdicts.
#pragma once

#include <tapestry/autograd/check/plain.h>
#include <tapestry/core/random.h>
#include <tapestry/tests/judge/support.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <numeric>

namespace tapestry::test {

using Plain = std::vector<double>;

inline constexpr std::uint64_t kSeeds = 12;

inline Plain drawn(std::uint64_t seed, std::size_t n, double low = -2, double high = 2) {
    Generator generator(seed);
    return uniform({static_cast<std::int64_t>(n)}, low, high, generator, DType::f64)
        .to_vector<double>();
}

struct Case {
    PlainFunction f;
    PlainGradient gradient;
    Plain x;
};

// Counts the verdicts.
template <class Make>
std::map<std::string, int> verdicts(Make make, const GradcheckOptions& options = {},
                                    std::uint64_t seeds = kSeeds) {
    std::map<std::string, int> counts;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        const Case one = make(seed);
        ++counts[verdict_of(check_gradient(one.f, one.gradient, one.x, options))];
    }
    return counts;
}

inline int count_of(const std::map<std::string, int>& counts, const std::string& prefix) {
    return std::accumulate(counts.begin(), counts.end(), 0, [&](int sum, const auto& entry) {
        return sum + (entry.first.starts_with(prefix) ? entry.second : 0);
    });
}

inline std::string described(const std::map<std::string, int>& counts) {
    std::string text;
    for (const auto& [verdict, count] : counts) text += fmt::format("{} {}  ", count, verdict);
    return text;
}

// sum sin(x_i) x_i
inline double sum_of_sines(const Plain& x) {
    double sum = 0;
    for (const double a : x) sum += std::sin(a) * a;
    return sum;
}
inline Plain slopes_of_sines(const Plain& x) {
    Plain g;
    for (const double a : x) g.push_back(std::cos(a) * a + std::sin(a));
    return g;
}

inline double in_f32(const Plain& x) {
    float sum = 0;
    for (const double a : x) sum += std::sin(static_cast<float>(a)) * static_cast<float>(a);
    return sum;
}

inline PlainFunction printed(const char* format, const PlainFunction& f) {
    return [format, f](const Plain& x) {
        char text[64];
        std::snprintf(text, sizeof text, format, f(x));
        return std::strtod(text, nullptr);
    };
}

// sum of y_i where y = cos(y) a / 2, iterated until it changes by less than `tolerance`.
inline double fixed_point(double a, double tolerance) {
    double y = 0;
    for (;;) {
        const double next = std::cos(y) * a / 2;
        const bool done = std::abs(next - y) < tolerance;
        y = next;
        if (done) return y;
    }
}

inline Case fixed_points(std::uint64_t seed, double tolerance) {
    const auto f = [tolerance](const Plain& x) {
        double sum = 0;
        for (const double a : x) sum += fixed_point(a, tolerance);
        return sum;
    };
    const auto g = [tolerance](const Plain& x) {
        Plain slopes;
        for (const double a : x) {
            const double y = fixed_point(a, tolerance);
            slopes.push_back(std::cos(y) / 2 / (1 + std::sin(y) * a / 2));
        }
        return slopes;
    };
    return {f, g, drawn(seed, 5, 0.5, 1.5)};
}

}  // namespace tapestry::test
