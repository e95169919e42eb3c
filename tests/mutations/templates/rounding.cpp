// Right gradients of functions that round internally: f32, printed numbers, noise, cancellation. f
// is a staircase or a cloud around a smooth function, so its differences at small steps mean
// nothing.
#include <tapestry/tests/mutations/templates/template.h>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>

namespace tapestry::test {
namespace {

using Values = std::vector<double>;

constexpr double kHalfUlpF32 = 6e-8;

// sum of x_i sin(x_i), which most of these round in some way
double sum_of_sines(const Values& x) {
    double sum = 0;
    for (const double a : x) sum += std::sin(a) * a;
    return sum;
}

Values slopes_of_sines(const Values& x) {
    Values g;
    for (const double a : x) g.push_back(std::cos(a) * a + std::sin(a));
    return g;
}

PlainCase rounded(Draw& draw, ScalarFunction f, std::size_t most) {
    return scalar_case(std::move(f), slopes_of_sines, draw.values(draw.count(1, most)));
}

// All of it in f32.
PlainCase f32_inside(Draw& draw) {
    PlainCase one = rounded(
        draw,
        [](const Values& x) {
            float sum = 0;
            for (const double a : x) sum += std::sin(static_cast<float>(a)) * static_cast<float>(a);
            return static_cast<double>(sum);
        },
        60);
    one.noise = kHalfUlpF32 * std::sqrt(static_cast<double>(one.x.size())) *
                std::max(1.0, std::abs(one.f(one.x)[0]));
    return one;
}

// Only the result is rounded to f32.
PlainCase f32_result(Draw& draw) {
    PlainCase one = rounded(
        draw,
        [](const Values& x) { return static_cast<double>(static_cast<float>(sum_of_sines(x))); },
        30);
    one.noise = kHalfUlpF32 * std::abs(one.f(one.x)[0]);
    return one;
}

// y = tanh(W x) in f32, as in an inference engine.
PlainCase f32_layer(Draw& draw) {
    const std::size_t n = draw.count(2, 12), m = draw.count(1, 6);
    const Values w = draw.values(m * n, -1, 1);
    PlainCase one;
    one.f = [w, m](const Values& x) {
        Values y(m);
        for (std::size_t i = 0; i < m; ++i) {
            float sum = 0;
            for (std::size_t j = 0; j < x.size(); ++j) {
                sum += static_cast<float>(w[i * x.size() + j]) * static_cast<float>(x[j]);
            }
            y[i] = static_cast<double>(std::tanh(sum));
        }
        return y;
    };
    one.pullback = [w, f = one.f](const Values& x, const Values& g) {
        const Values y = f(x);
        Values dx(x.size(), 0.0);
        for (std::size_t i = 0; i < y.size(); ++i) {
            for (std::size_t j = 0; j < x.size(); ++j) {
                const double weight = static_cast<double>(static_cast<float>(w[i * x.size() + j]));
                dx[j] += g[i] * (1 - y[i] * y[i]) * weight;
            }
        }
        return dx;
    };
    one.x = draw.values(n, -1, 1);
    one.noise = kHalfUlpF32 * std::sqrt(static_cast<double>(n));
    return one;
}

// Written to a file and read again: printf's %.4g to %.10g
PlainCase printed(Draw& draw) {
    const int digits = draw.pick({4, 6, 6, 8, 10});
    PlainCase one = rounded(
        draw,
        [digits](const Values& x) {
            return std::strtod(fmt::format("{:.{}g}", sum_of_sines(x), digits).c_str(), nullptr);
        },
        30);
    one.noise = std::pow(10.0, -digits) * std::max(1.0, std::abs(one.f(one.x)[0]));
    one.note = fmt::format("%.{}g", digits);
    return one;
}

// Rounded to a number of decimals: money, or a sensor. With only a few units, f would be a
// staircase (the template of that name, whose slope is 0), and the unrounded function unknowable.
PlainCase decimals(Draw& draw) {
    constexpr double kFewest = 200;
    const double unit = std::pow(10.0, -draw.pick({4, 6, 8}));
    PlainCase one;
    do {
        one = rounded(
            draw, [unit](const Values& x) { return unit * std::round(sum_of_sines(x) / unit); },
            20);
    } while (std::abs(one.f(one.x)[0]) < kFewest * unit);
    one.noise = unit / 3;
    one.note = fmt::format("unit {}", unit);
    return one;
}

// A number between -1 and 1, different for every x.
double hash_of(const Values& x) {
    std::uint64_t h = 0x9e3779b97f4a7c15U;
    for (const double a : x) {
        h ^= std::bit_cast<std::uint64_t>(a);
        h *= 0xff51afd7ed558ccdU;
        h ^= h >> 32;
    }
    return std::ldexp(static_cast<double>(h >> 11), -52) - 1;
}

// A simulator whose internal noise depends only on x.
PlainCase hash_noise(Draw& draw) {
    const double size = draw.pick({1e-6, 1e-8, 1e-10});
    PlainCase one = rounded(
        draw, [size](const Values& x) { return sum_of_sines(x) + size * hash_of(x); }, 20);
    one.noise = size;
    one.note = fmt::format("noise {}", size);
    return one;
}

// A large number is added and subtracted again.
PlainCase cancellation(Draw& draw) {
    const double large = draw.log_between(1e4, 1e9);
    PlainCase one = rounded(
        draw,
        [large](const Values& x) {
            volatile double sum = large + sum_of_sines(x);
            return sum - large;
        },
        20);
    one.noise = 1e-16 * large;
    one.note = fmt::format("beside {:.1e}", large);
    return one;
}

// x is rounded to f32, as from a file or a GPU; the computation is exact.
PlainCase f32_input(Draw& draw) {
    PlainCase one = rounded(
        draw,
        [](Values x) {
            for (double& a : x) a = static_cast<double>(static_cast<float>(a));
            return sum_of_sines(x);
        },
        20);
    one.noise = 4 * kHalfUlpF32;
    return one;
}

// A Monte Carlo mean with the same random numbers every time: smooth, and otherwise unremarkable.
PlainCase common_numbers(Draw& draw) {
    const std::size_t n = draw.count(1, 8), paths = draw.count(10, 300);
    const Values normal = draw.values(paths * n);
    const auto sum_over = [normal, n](const Values& x, auto visit) {
        for (std::size_t p = 0; p < normal.size(); p += n) {
            double exponent = 0;
            for (std::size_t i = 0; i < n; ++i) exponent += 0.3 * normal[p + i] * x[i];
            visit(p,
                  std::exp(exponent) * static_cast<double>(n) / static_cast<double>(normal.size()));
        }
    };
    return scalar_case(
        [sum_over](const Values& x) {
            double mean = 0;
            sum_over(x, [&mean](std::size_t, double value) { mean += value; });
            return mean;
        },
        [sum_over, normal](const Values& x) {
            Values g(x.size(), 0.0);
            sum_over(x, [&](std::size_t p, double value) {
                for (std::size_t i = 0; i < x.size(); ++i) g[i] += 0.3 * normal[p + i] * value;
            });
            return g;
        },
        draw.values(n));
}

}  // namespace

const std::vector<Template>& rounding_templates() {
    static const std::vector<Template> all{
        {"computed in f32", f32_inside},      {"result in f32", f32_result},
        {"layer in f32", f32_layer},          {"printed", printed},
        {"rounded to decimals", decimals},    {"noise by hash", hash_noise},
        {"cancellation", cancellation},       {"input in f32", f32_input},
        {"Monte Carlo mean", common_numbers},
    };
    return all;
}

}  // namespace tapestry::test
