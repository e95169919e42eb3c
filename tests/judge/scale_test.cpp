// Functions with numbers near the limits of f64: their right gradients never fail.
#include <tapestry/autograd/check/plain.h>
#include <tapestry/tests/judge/solver_cases.h>

#include <cmath>
#include <optional>

using namespace tapestry;
using namespace tapestry::test;

TEST_CASE("scale: a right gradient at the ends of it never fails") {
    for (const double size : {1e-320, 1e-312, 1e-310, 1e-308, 1e-300, 1e300, 1e307, 3e307}) {
        CAPTURE(size);
        const auto make = [size](std::uint64_t seed) { return of_size(size, seed); };
        const auto counts = verdicts(make, {}, size == 1e-310 ? 200 : 20);
        INFO(described(counts));
        CHECK_EQ(count_of(counts, "FAIL"), 0);
    }
}

TEST_CASE("scale: at 0, where no number tells how far away is near, a right gradient never fails") {
    const auto verdict_of = [](double period, double height, double factor) {
        return check_gradient(
                   [=](const std::vector<double>& x) {
                       double sum = 0;
                       for (const double one : x) sum += height * std::sin(one / period);
                       return sum;
                   },
                   [=](const std::vector<double>& x) {
                       std::vector<double> slopes;
                       for (const double one : x) {
                           slopes.push_back(factor * height / period * std::cos(one / period));
                       }
                       return slopes;
                   },
                   {0, 0, 0, 0, 0})
            .verdict;
    };
    for (const double period : {1e-10, 1e-15, 1e-20, 1e-30, 1e-200}) {
        CAPTURE(period);
        for (const double height : {1.0, period}) {
            CHECK_NE(verdict_of(period, height, 1), Verdict::fail);
            CHECK_NE(verdict_of(period, height, 1.5), Verdict::pass);
        }
    }
}

namespace {

// sin(x_0) + sin(x_2) + ..., plus terms with slopes `ratio` times smaller
double two_sizes(double ratio, const std::vector<double>& x) {
    double sum = 0;
    for (std::size_t i = 0; i < x.size(); ++i) sum += std::sin(x[i]) / (i % 2 == 0 ? 1 : ratio);
    return sum;
}

GradcheckReport check_two_sizes(double ratio, const std::vector<double>& x, double last_factor) {
    return check_gradient([ratio](const std::vector<double>& at) { return two_sizes(ratio, at); },
                          [ratio, last_factor](const std::vector<double>& at) {
                              std::vector<double> g(at.size());
                              for (std::size_t i = 0; i < g.size(); ++i) {
                                  g[i] = std::cos(at[i]) / (i % 2 == 0 ? 1 : ratio);
                              }
                              g.back() *= last_factor;
                              return g;
                          },
                          x);
}

}  // namespace

// Decided by what differences can see of it, not by its size relative to the others.
TEST_CASE(
    "scale: a slope far below the others is wrong, right or not seen, and never passes for 0") {
    for (const double turn : {0.1, 0.4, 0.7, 1.2, 1.53, 1.9, 2.6}) {
        CAPTURE(turn);
        const std::vector<double> x{0.8 - turn, turn};
        CHECK_EQ(check_two_sizes(9e10, x, 0).verdict, Verdict::fail);
        CHECK_NE(check_two_sizes(9e10, x, 1).verdict, Verdict::fail);
        CHECK_EQ(check_two_sizes(9e8, x, 1).verdict, Verdict::pass);
        // a thousandth of 1e-12 is lost in the last bit of a sum of 1
        const std::vector<double> more{turn, 0.3, 1 - turn, turn};
        CHECK_NE(check_two_sizes(6e11, more, 1.0025).verdict, Verdict::pass);
        CHECK_NE(check_two_sizes(1e13, more, 1.5).verdict, Verdict::pass);
        CHECK_NE(check_two_sizes(1e13, more, 1).verdict, Verdict::fail);
    }
}

namespace {

// (`large` sin x_0, sin x_1, ...); the slope of output 1 by x_1 times `factor`
GradcheckReport check_beside_large(std::size_t n, double large, double factor) {
    const auto f = [large](Plain x) {
        for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(x[i]) * (i == 0 ? large : 1);
        return x;
    };
    const auto pullback = [large, factor](const Plain& x, Plain g) {
        for (std::size_t i = 0; i < x.size(); ++i) {
            g[i] *= std::cos(x[i]) * (i == 0 ? large : i == 1 ? factor : 1);
        }
        return g;
    };
    return check_pullback(f, pullback, Plain(n, 0.7), {.explain = false});
}

// e^x, element by element, with a spread of e^`most`; a slope, if any, is claimed 0
GradcheckReport check_exponentials(std::uint64_t seed, double most, std::optional<std::size_t> at) {
    const auto f = [](Plain x) {
        for (double& a : x) a = std::exp(a);
        return x;
    };
    const auto pullback = [at](const Plain& x, Plain g) {
        for (std::size_t i = 0; i < x.size(); ++i) g[i] *= i == at ? 0 : std::exp(x[i]);
        return g;
    };
    return check_pullback(f, pullback, drawn(seed, 6, -most / 2, most / 2), {.explain = false});
}

}  // namespace

// What a large output rounds is nothing to the slopes of the others.
TEST_CASE("scale: a slope of a small output that is claimed 0 fails") {
    for (const std::size_t n : {2U, 64U, 300U}) {
        for (const double large : {1e12, 1e15, 1e16, 1e20, 1e40, 1e60}) {
            CAPTURE(n);
            CAPTURE(large);
            CHECK_EQ(verdict_of(check_beside_large(n, large, 1)), "PASS");
            for (const double factor : {0.0, -1.0, 0.5, 1.01}) {
                CAPTURE(factor);
                CHECK_EQ(verdict_of(check_beside_large(n, large, factor)), "FAIL");
            }
        }
    }
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
        CAPTURE(seed);
        for (const double most : {50.0, 150.0, 230.0}) {
            CAPTURE(most);
            CHECK_EQ(verdict_of(check_exponentials(seed, most, {})), "PASS");
            CHECK_EQ(verdict_of(check_exponentials(seed, most, seed % 6)), "FAIL");
        }
    }
}

// An output of which a larger one depends on the same numbers: rounding may have left the 0.
TEST_CASE("scale: a claim of 0 that rounding explains is open") {
    constexpr double kLarge = 1e20;
    const auto f = [](const Plain& x) {
        return Plain{kLarge * std::sin(x[0] + x[1]), std::sin(x[0] - x[1])};
    };
    const auto check = [&](double factor) {
        const auto pullback = [factor](const Plain& x, const Plain& g) {
            const double sum = kLarge * std::cos(x[0] + x[1]) * g[0];
            const double difference = std::cos(x[0] - x[1]) * g[1];
            return Plain{sum + difference, sum - factor * difference};
        };
        return check_pullback(f, pullback, {0.7, 0.4}, {.explain = false});
    };
    CHECK_EQ(verdict_of(check(1)), "PASS");
    CHECK_EQ(verdict_of(check(0)), "INCONCLUSIVE (roundoff)");
}

TEST_CASE("scale: a rule that gives 0 below the smallest normal number does not fail") {
    const auto f = [](const Plain& x) { return std::log1p(std::exp(-x[0])); };
    const auto overflows = [](const Plain& x) { return Plain{-1 / (1 + std::exp(x[0]))}; };
    for (const double x : {709.0, 710.0, 715.0, 730.0, 740.0}) {
        INFO(x);
        CHECK_NE(check_gradient(f, overflows, {x}).verdict, Verdict::fail);
    }
    const auto zero = [](const Plain&) { return Plain{0}; };
    CHECK_EQ(check_gradient(f, zero, {700}).verdict, Verdict::fail);
}
