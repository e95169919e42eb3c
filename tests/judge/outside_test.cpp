// Cases that others brought: functions that round inside, iterate, throw or live on extreme scales,
// whose gradients are right, and wrong ones that hide behind a larger output or a larger entry.
// Each class is drawn by seed, over sizes and scales.
#include <tapestry/tests/judge/solver_cases.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <stdexcept>

using namespace tapestry;
using namespace tapestry::test;

TEST_CASE("outside: right functions that round inside never fail") {
    const auto f32 = verdicts(
        [](std::uint64_t seed) {
            return Case{in_f32, slopes_of_sines, drawn(seed, 20)};
        },
        {}, 4);
    INFO("f32 inside: " << described(f32));
    CHECK_EQ(count_of(f32, "FAIL"), 0);
    for (const char* format : {"%.6g", "%.4g"}) {
        const auto counts = verdicts(
            [format](std::uint64_t seed) {
                return Case{printed(format, sum_of_sines), slopes_of_sines, drawn(seed, 10)};
            },
            {}, 4);
        INFO(format << ": " << described(counts));
        CHECK_EQ(count_of(counts, "FAIL"), 0);
    }
}

TEST_CASE("outside: right implicit gradients of iterations never fail") {
    for (const double tolerance : {1e-6, 1e-8, 1e-10}) {
        const auto counts =
            verdicts([tolerance](std::uint64_t seed) { return fixed_points(seed, tolerance); });
        INFO(tolerance << ": " << described(counts));
        CHECK_EQ(count_of(counts, "FAIL"), 0);
    }
}

TEST_CASE("outside: numbers at the ends of the scale") {
    const auto counts = verdicts([](std::uint64_t seed) {
        Plain x = drawn(seed, 3, 1, 2);
        for (double& a : x) a *= 1e-310;
        return Case{[](const Plain& at) { return 3 * at[0] - at[1] + 0.5 * at[2]; },
                    [](const Plain&) {
                        return Plain{3, -1, 0.5};
                    },
                    x};
    });
    INFO("1e-310: " << described(counts));
    CHECK_EQ(count_of(counts, "FAIL"), 0);
    const auto large = verdicts([](std::uint64_t seed) {
        Plain x = drawn(seed, 3, 1, 2);
        for (double& a : x) a *= 1e150;
        return Case{
            [](const Plain& at) { return at[0] + std::sqrt(at[1]) * std::sqrt(at[2]); },
            [](const Plain& at) {
                return Plain{1, 0.5 * std::sqrt(at[2] / at[1]), 0.5 * std::sqrt(at[1] / at[2])};
            },
            x};
    });
    INFO("1e150: " << described(large));
    CHECK_EQ(count_of(large, "FAIL"), 0);
    CHECK_EQ(count_of(large, "PASS"), kSeeds);
}

// x -> sum of w_i (H^-1 x)_i for Hilbert's matrix, whose condition number is 1.5e10 for n = 8.
TEST_CASE("outside: a badly conditioned solve") {
    const auto counts = verdicts([](std::uint64_t seed) { return system_of(hilbert(8), seed); });
    INFO("Hilbert: " << described(counts));
    CHECK_EQ(count_of(counts, "FAIL"), 0);
}

TEST_CASE("outside: a function that throws where it is not defined") {
    const auto entropy = [](const Plain& x) {
        double sum = 0;
        for (const double a : x) {
            if (a <= 0) throw std::domain_error("entropy: x is not positive");
            sum -= a * std::log(a);
        }
        return sum;
    };
    for (const double factor : {1.0, 1.001}) {
        const auto slopes = [factor](const Plain& x) {
            Plain g;
            for (const double a : x) g.push_back(-factor * (std::log(a) + 1));
            return g;
        };
        const auto counts = verdicts([&](std::uint64_t seed) {
            return Case{entropy, slopes, drawn(seed, 6, 0.01, 1)};
        });
        INFO(factor << ": " << described(counts));
        CHECK_EQ(count_of(counts, factor == 1 ? "PASS" : "FAIL"), kSeeds);
    }
}

TEST_CASE("outside: an output that a larger one hides") {
    for (const std::size_t n : {std::size_t{200}, std::size_t{300}}) {
        const auto f = [](const Plain& x) {
            double squares = 0, sines = 0;
            for (const double a : x) {
                squares += a * a;
                sines += std::sin(a);
            }
            return Plain{1e9 * squares, 1e-3 * sines};
        };
        const auto pullback = [](bool right) {
            return [right](const Plain& x, const Plain& g) {
                Plain slopes;
                for (const double a : x) {
                    slopes.push_back(2e9 * a * g[0] + (right ? 1e-3 * std::cos(a) * g[1] : 0));
                }
                return slopes;
            };
        };
        const Plain x = drawn(n, n);
        CHECK_EQ(verdict_of(check_pullback(f, pullback(true), x)), "PASS");
        CHECK_EQ(verdict_of(check_pullback(f, pullback(false), x)), "FAIL");
    }
}

TEST_CASE("outside: an entry that a larger one hides does not pass") {
    const auto f = [](const Plain& x) {
        return 1e3 * (x[0] * x[0] + x[1] * x[1]) + 1e-9 * (x[2] * x[2] + x[3] * x[3]);
    };
    const auto half = [](const Plain& x) {
        return Plain{2e3 * x[0], 2e3 * x[1], 1e-9 * x[2], 1e-9 * x[3]};
    };
    const auto counts = verdicts([&](std::uint64_t seed) { return Case{f, half, drawn(seed, 4)}; });
    INFO("half a small slope: " << described(counts));
    CHECK_EQ(count_of(counts, "PASS"), 0);
}

TEST_CASE("outside: a backward that is not linear") {
    const auto f = [](const Plain& x) {
        Plain y;
        for (const double a : x) y.push_back(std::sin(a));
        return y;
    };
    const auto clipped = [](double bound) {
        return [bound](const Plain& x, const Plain& g) {
            Plain slopes;
            for (std::size_t i = 0; i < x.size(); ++i) {
                slopes.push_back(std::clamp(std::cos(x[i]) * g[i], -bound, bound));
            }
            return slopes;
        };
    };
    const auto by_norm = [](const Plain& x, const Plain& g) {
        Plain slopes;
        double squares = 0;
        for (std::size_t i = 0; i < x.size(); ++i) {
            slopes.push_back(std::cos(x[i]) * g[i]);
            squares += slopes[i] * slopes[i];
        }
        for (double& slope : slopes) slope *= std::min(1.0, 10 / std::sqrt(squares));
        return slopes;
    };
    const Plain x = drawn(5, 12);
    CHECK_EQ(verdict_of(check_pullback(f, clipped(1e30), x)), "PASS");
    CHECK_EQ(verdict_of(check_pullback(f, clipped(5), x)), "FAIL");
    CHECK_EQ(verdict_of(check_pullback(f, by_norm, x)), "FAIL");
}

TEST_CASE("outside: a backward that adds what does not depend on the incoming gradient") {
    const auto f = [](const Plain& x) {
        Plain y;
        for (const double a : x) y.push_back(std::sin(a));
        return y;
    };
    // `added`: to the sum of the incoming gradient's squares
    const auto adds = [](const std::function<double(double)>& added) {
        return [added](const Plain& x, const Plain& g) {
            double squares = 0;
            for (const double a : g) squares += a * a;
            Plain slopes;
            for (std::size_t i = 0; i < x.size(); ++i) {
                slopes.push_back(std::cos(x[i]) * g[i] + added(squares));
            }
            return slopes;
        };
    };
    const Plain x = drawn(5, 12);
    for (const double constant : {5e-5, -1e-4}) {
        const auto rule = adds([constant](double) { return constant; });
        const GradcheckReport report = check_pullback(f, rule, x);
        CHECK_EQ(verdict_of(report), "FAIL");
        CHECK(test::contains(test::complaints_of(report), "an incoming gradient of 0"));
        // Rounding may hide as much as this.
        const auto little = adds([constant](double) { return 1e-3 * constant; });
        CHECK_NE(check_pullback(f, little, x).verdict, Verdict::fail);
    }
    // Rules that cannot be asked, give NaN, or -0: only the multiples show that something is off.
    const auto refuses = adds([](double squares) {
        if (squares == 0) throw std::invalid_argument("no incoming gradient");
        return 5e-5;
    });
    const auto divides = adds([](double squares) { return 5e-5 * squares / squares; });
    const auto of_none = adds([](double squares) { return squares == 0 ? -0.0 : 5e-5; });
    for (const auto& rule : {refuses, divides, of_none}) {
        CHECK_EQ(check_pullback(f, rule, x).verdict, Verdict::inconclusive);
    }
    CHECK_EQ(verdict_of(check_pullback(f, adds([](double) { return -0.0; }), x)), "PASS");
}

TEST_CASE("outside: sqrt at 0 has no slope, on a tape and as a plain function") {
    CHECK_EQ(verdict_of(check_gradient([](const Plain& x) { return std::sqrt(x[0]); },
                                       [](const Plain& x) { return Plain{0.5 / std::sqrt(x[0])}; },
                                       {0})),
             "INCONCLUSIVE (not finite)");
    CHECK_EQ(
        verdict_of(gradcheck([](const Tensors& x) { return sqrt(x[0]); }, {tensor<double>({0})})),
        "INCONCLUSIVE (not finite)");
}
