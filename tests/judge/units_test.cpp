// Numbers of other units next to each other, periods that all steps have in common, numbers next to
// the smallest of a format: a wrong claim must not pass there, and a right one must not fail.
#include <tapestry/autograd/check/quotients.h>
#include <tapestry/tests/judge/plain_cases.h>
#include <tapestry/tests/skip.h>

#include <numbers>

using namespace tapestry;
using namespace tapestry::test;

namespace {

// Parameters as in physics: x_i of about the size of their unit, from 1e-9 to 1e9, and terms of f
// that are all of about the same size.
Case of_units(std::uint64_t seed, std::size_t n) {
    const Plain powers = drawn(seed, n, -9, 9), at = drawn(seed + 100, n, 0.5, 2);
    Plain unit, x;
    for (std::size_t i = 0; i < n; ++i) {
        unit.push_back(std::pow(10, powers[i]));
        x.push_back(unit[i] * at[i]);
    }
    const auto f = [unit](const Plain& z) {
        double sum = 0;
        for (std::size_t i = 0; i < z.size(); ++i) sum += std::tanh(z[i] / unit[i]);
        return sum;
    };
    const auto g = [unit](const Plain& z) {
        Plain slopes;
        for (std::size_t i = 0; i < z.size(); ++i) {
            const double y = std::tanh(z[i] / unit[i]);
            slopes.push_back((1 - y * y) / unit[i]);
        }
        return slopes;
    };
    return {f, g, x};
}

}  // namespace

TEST_CASE("units: an entry whose slope is small because its numbers are large") {
    for (std::uint64_t seed = 1; seed <= 2 * kSeeds; ++seed) {
        const Case one = of_units(seed, 8 + seed % 2 * 30);
        const auto largest =
            static_cast<std::size_t>(std::max_element(one.x.begin(), one.x.end()) - one.x.begin());
        for (const double off : {-1.0, 1.0, 0.0}) {
            const auto claimed = [&](const Plain& x) {
                Plain slopes = one.gradient(x);
                slopes[largest] *= 1 + off;
                return slopes;
            };
            const auto report = check_gradient(one.f, claimed, one.x);
            INFO("off by " << off << "\n" << to_string(report));
            if (off == 0) {
                CHECK_EQ(verdict_of(report), "PASS");
            } else {
                CHECK_NE(report.verdict, Verdict::pass);
            }
        }
    }
}

// As the features of positions in graphics, at x = 1: their periods divide every step 2^-k.
TEST_CASE("units: a period that all steps have in common") {
    for (const double x : {1.0, 0.5, 3.0}) {
        for (int k = 3; k <= 14; k += is_short() ? 6 : 1) {
            const double w = std::ldexp(std::numbers::pi, k);
            const auto f = [w](const Plain& z) {
                double sum = 0;
                for (const double a : z) sum += a * a + std::sin(w * a);
                return sum;
            };
            const auto slopes = [w](double of_sine) {
                return [w, of_sine](const Plain& z) {
                    Plain g;
                    for (const double a : z) g.push_back(2 * a + of_sine * w * std::cos(w * a));
                    return g;
                };
            };
            for (const std::size_t n : {1U, 300U}) {
                const Plain at(n, x);
                INFO("sin(2^" << k << " pi x) at " << x << ", " << n << " numbers");
                const auto without = check_gradient(f, slopes(0), at);
                if (n == 1) CHECK_EQ(verdict_of(without), "FAIL");
                CHECK_NE(without.verdict, Verdict::pass);
                CHECK_NE(check_gradient(f, slopes(1), at).verdict, Verdict::fail);
            }
        }
    }
}

TEST_CASE("units: next to the smallest number of a format") {
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        const Plain powers = drawn(seed, 3, -30, -8), x = drawn(seed + 100, 1 + seed % 3, 0.3, 2);
        const auto f = [&](const Plain& z) {
            Plain y(powers.size(), 0.0);
            for (std::size_t k = 0; k < y.size(); ++k) {
                for (const double a : z) y[k] += std::exp2(powers[k]) * std::sin(a);
            }
            return y;
        };
        const auto rule = [&](const Plain& z, const Plain& g) {
            Plain slopes;
            for (const double a : z) {
                double sum = 0;
                for (std::size_t k = 0; k < g.size(); ++k) sum += g[k] * std::exp2(powers[k]);
                slopes.push_back(rounded(Format::f16, sum * std::cos(a)));
            }
            return slopes;
        };
        GradcheckOptions options{.format = Format::f16, .seed = seed};
        if (seed % 2 == 0) options.method = GradcheckMethod::entries;
        const auto report = check_pullback(f, rule, x, options);
        INFO(to_string(report));
        CHECK_NE(report.verdict, Verdict::fail);
    }
}

// Two steps change one output each, the first the one that rounds coarsely.
TEST_CASE("units: rounding is that of the outputs that change") {
    using namespace checker;
    const auto f = [](double t) {
        const double size = std::abs(t);
        Sample sample{{1, 1, 1}};
        if (size == 1) sample.values[0] += t;
        if (size > 0 && size < 1) sample.values[1] += t;
        return sample;
    };
    Line line(f, 1);
    Neighbourhood around{.base = line.at(0)};
    around.shaken.push_back({1, 1 + 0x1p-10, 1});
    const std::vector<double> weights{1, 1, 1};
    Quotients quotients(line, weights, around);
    CHECK_EQ(quotients.central(1).rounding, 0x1p-10);
    Line again(f, 1);
    around.shaken[0] = {1 + 0x1p-10, 1, 1};
    Quotients others(again, weights, around);
    CHECK_LT(others.central(0.5).rounding, 0x1p-40);
    CHECK_EQ(others.central(1).rounding, 0x1p-10);
}
