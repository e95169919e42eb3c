// The meaning of a PASS: r, the relative error that an entry may still have. Functions with only a
// few good digits pass with a matching r, and nothing passes that is off by more than r.
#include <tapestry/tests/judge/plain_cases.h>

#include <algorithm>
#include <cstring>

using namespace tapestry;
using namespace tapestry::test;

namespace {

// Between -0.5 and 0.5, a different number for every x.
double hash_of(const Plain& x) {
    std::uint64_t all = 1;
    for (const double a : x) {
        std::uint64_t bits = 0;
        std::memcpy(&bits, &a, sizeof bits);
        all = (all ^ bits ^ (bits >> 31U)) * 0x9e3779b97f4a7c15U;
        all = (all ^ (all >> 29U)) * 0xbf58476d1ce4e5b9U;
    }
    return static_cast<double>(all >> 11U) * 0x1p-53 - 0.5;
}

PlainFunction noisy(double size, const PlainFunction& f) {
    return [size, f](const Plain& x) { return f(x) + size * hash_of(x); };
}

// sum of y_i with y^3 + y = a_i, by bisection.
double bisected(const Plain& x, double tolerance) {
    double sum = 0;
    for (const double a : x) {
        double low = 0, high = 4;
        while (high - low > tolerance) {
            const double y = (low + high) / 2;
            (y * y * y + y < a ? low : high) = y;
        }
        sum += (low + high) / 2;
    }
    return sum;
}

Plain slopes_of_roots(const Plain& x) {
    Plain g;
    for (const double a : x) {
        const double y = bisected({a}, 1e-15);
        g.push_back(1 / (3 * y * y + 1));
    }
    return g;
}

// sum |x_i - c_i|, every c_i at this distance from x_i
Case near_kinks(std::uint64_t seed, double distance) {
    const Plain x = drawn(seed, 4, 0.5, 2);
    Plain c = x;
    for (std::size_t i = 0; i < c.size(); ++i) c[i] += i % 2 == 0 ? distance : -distance;
    const auto f = [c](const Plain& at) {
        double sum = 0;
        for (std::size_t i = 0; i < c.size(); ++i) sum += std::abs(at[i] - c[i]);
        return sum;
    };
    const auto g = [c](const Plain& at) {
        Plain slopes;
        for (std::size_t i = 0; i < c.size(); ++i) slopes.push_back(at[i] > c[i] ? 1 : -1);
        return slopes;
    };
    return {f, g, x};
}

// The total variation of an n x n image.
Case total_variation(std::uint64_t seed, std::size_t n) {
    const auto pairs = [n](auto each) {
        for (std::size_t i = 0; i < n * n; ++i) {
            if (i % n + 1 < n) each(i, i + 1);
            if (i + n < n * n) each(i, i + n);
        }
    };
    const auto f = [pairs](const Plain& x) {
        double sum = 0;
        pairs([&](std::size_t a, std::size_t b) { sum += std::abs(x[a] - x[b]); });
        return sum;
    };
    const auto g = [pairs](const Plain& x) {
        Plain slopes(x.size(), 0.0);
        pairs([&](std::size_t a, std::size_t b) {
            slopes[a] += x[a] > x[b] ? 1 : -1;
            slopes[b] -= x[a] > x[b] ? 1 : -1;
        });
        return slopes;
    };
    return {f, g, drawn(seed, n * n, 0, 1)};
}

// The mean of max(0, 1 - y_i <w, a_i>) over samples a_i of 5 numbers.
Case hinge(std::uint64_t seed, std::size_t samples) {
    constexpr std::size_t kSize = 5;
    const Plain a = drawn(seed + 50, samples * kSize);
    const auto margin = [a](const Plain& w, std::size_t i) {
        double sum = 0;
        for (std::size_t k = 0; k < kSize; ++k) sum += w[k] * a[i * kSize + k];
        return 1 - (i % 2 == 0 ? sum : -sum);
    };
    const auto f = [margin, samples](const Plain& w) {
        double sum = 0;
        for (std::size_t i = 0; i < samples; ++i) sum += std::max(0.0, margin(w, i));
        return sum / static_cast<double>(samples);
    };
    const auto g = [margin, samples, a](const Plain& w) {
        Plain slopes(kSize, 0.0);
        for (std::size_t i = 0; i < samples; ++i) {
            if (margin(w, i) <= 0) continue;
            for (std::size_t k = 0; k < kSize; ++k) {
                slopes[k] -= (i % 2 == 0 ? 1 : -1) * a[i * kSize + k];
            }
        }
        for (double& slope : slopes) slope /= static_cast<double>(samples);
        return slopes;
    };
    return {f, g, drawn(seed, kSize)};
}

// sum of w_i f(x_i), elementwise
Case entrywise(std::uint64_t seed, double (*f)(double), double (*slope)(double), double low,
               double high) {
    const Plain w{1, -2, 0.5};
    const auto sum = [w, f](const Plain& x) {
        double total = 0;
        for (std::size_t i = 0; i < w.size(); ++i) total += w[i] * f(x[i]);
        return total;
    };
    const auto slopes = [w, slope](const Plain& x) {
        Plain g;
        for (std::size_t i = 0; i < w.size(); ++i) g.push_back(w[i] * slope(x[i]));
        return g;
    };
    return {sum, slopes, drawn(seed, w.size(), low, high)};
}

Case fast_sines(std::uint64_t seed) {
    return entrywise(
        seed, [](double x) { return std::sin(1e8 * x); },
        [](double x) { return 1e8 * std::cos(1e8 * x); }, 0.5, 1.5);
}

Case large_powers(std::uint64_t seed) {
    Case one{[](const Plain& x) { return std::exp(x[0]); },
             [](const Plain& x) { return Plain{std::exp(x[0])}; }, drawn(seed, 1, 690, 705)};
    return one;
}

Case scaled(std::uint64_t seed, double scale) {
    Plain x = drawn(seed, 3, 1, 2);
    for (double& a : x) a *= scale;
    return {[](const Plain& at) { return 3 * at[0] - at[1] + 0.5 * at[2]; },
            [](const Plain&) {
                return Plain{3, -1, 0.5};
            },
            x};
}

struct Hard {
    const char* name;
    std::function<Case(std::uint64_t)> make;
    int passes;  ///< of six, at least
};

std::vector<Hard> hard_cases() {
    const auto sines = [](PlainFunction f, std::size_t n) {
        return [f, n](std::uint64_t seed) { return Case{f, slopes_of_sines, drawn(seed, n)}; };
    };
    const auto roots = [](double tolerance) {
        return [tolerance](std::uint64_t seed) {
            const auto f = [tolerance](const Plain& x) { return bisected(x, tolerance); };
            return Case{f, slopes_of_roots, drawn(seed, 4, 0.5, 3)};
        };
    };
    const auto with = [](auto make, double number) {
        return [make, number](std::uint64_t seed) { return make(seed, number); };
    };
    return {{"f32, 3 numbers", sines(in_f32, 3), 5},
            {"f32, 10 numbers", sines(in_f32, 10), 0},
            {"%.6g", sines(printed("%.6g", sum_of_sines), 3), 2},
            {"%.4g", sines(printed("%.4g", sum_of_sines), 5), 0},
            {"noise of 1e-8", sines(noisy(1e-8, sum_of_sines), 4), 6},
            {"noise of 1e-6", sines(noisy(1e-6, sum_of_sines), 4), 4},
            {"noise of 1e-1", sines(noisy(1e-1, sum_of_sines), 4), 0},
            {"bisection, 1e-12", roots(1e-12), 6},
            {"bisection, 1e-8", roots(1e-8), 6},
            {"bisection, 1e-6", roots(1e-6), 6},
            {"solver, 1e-6", with(fixed_points, 1e-6), 0},
            {"solver, 1e-8", with(fixed_points, 1e-8), 4},
            {"solver, 1e-10", with(fixed_points, 1e-10), 5},
            {"kinks at 1e-6", with(near_kinks, 1e-6), 6},
            {"kinks at 1e-8", with(near_kinks, 1e-8), 6},
            {"kinks at 1e-10", with(near_kinks, 1e-10), 0},
            {"kinks at 1e-12", with(near_kinks, 1e-12), 0},
            {"total variation", [](std::uint64_t seed) { return total_variation(seed, 12); }, 2},
            {"hinge", [](std::uint64_t seed) { return hinge(seed, 300); }, 6},
            {"sin(1e8 x)", fast_sines, 3},
            {"exp(700)", large_powers, 6},
            {"1e150", with(scaled, 1e150), 6},
            {"1e-310", with(scaled, 1e-310), 6}};
}

}  // namespace

TEST_CASE("resolution: hard functions pass with an r, and never fail") {
    for (const Hard& hard : hard_cases()) {
        CAPTURE(hard.name);
        const auto counts = verdicts(hard.make, {}, 6);
        const std::string all = described(counts);
        CAPTURE(all);
        CHECK_EQ(count_of(counts, "FAIL"), 0);
        CHECK_GE(count_of(counts, "PASS"), hard.passes);
    }
}

TEST_CASE("resolution: nothing passes that is off by more than it says") {
    for (const Hard& hard : hard_cases()) {
        CAPTURE(hard.name);
        for (std::uint64_t seed = 1; seed <= 2; ++seed) {
            CAPTURE(seed);
            const Case one = hard.make(seed);
            const Plain right = one.gradient(one.x);
            for (const double off : {1e-4, 1e-2, 1.0}) {
                const std::size_t wrong = seed % one.x.size();
                const auto claim = [&](const Plain& x) {
                    Plain g = one.gradient(x);
                    g[wrong] *= 1 + (seed % 2 == 0 ? off : -off);
                    return g;
                };
                const GradcheckReport report =
                    check_gradient(one.f, claim, one.x, {.explain = false});
                if (report.verdict != Verdict::pass) continue;
                INFO(off << "\n" << to_string(report));
                CHECK_LE(off, std::max(1e-6, report.resolution));
            }
        }
    }
}

TEST_CASE("resolution: what it is, in the report") {
    const auto f = [](const Plain& x) { return std::sin(x[0]) * x[1]; };
    const auto g = [](const Plain& x) { return Plain{std::cos(x[0]) * x[1], std::sin(x[0])}; };
    const GradcheckReport clean = check_gradient(f, g, {0.7, 3});
    CHECK_GT(clean.resolution, 0);
    CHECK_LT(clean.resolution, 1e-7);
    CHECK_EQ(clean.resolution, clean.inputs.at(0).resolution);
    const GradcheckReport coarse = check_gradient(noisy(1e-6, f), g, {0.7, 3});
    CHECK_EQ(verdict_of(coarse), "PASS");
    CHECK_GT(coarse.resolution, 1e-6);
    CHECK_LT(coarse.resolution, 1e-3);
    CHECK(contains(to_string(coarse), "full Jacobian, 1 x 2, agrees to "));
    CHECK_EQ(
        verdict_of(check_gradient(noisy(1e-6, f), g, {0.7, 3}, {.limits = {.resolution = 1e-9}})),
        "INCONCLUSIVE (roundoff)");
}

TEST_CASE("resolution: noise that is declared counts, where it is more than what is measured") {
    // A truncated series: its values do not reveal the error.
    const auto cut = [](const Plain& x) { return x[0] + x[0] * x[0] * x[0] / 6 + 2e-5 * x[0]; };
    const auto g = [](const Plain& x) { return Plain{1 + x[0] * x[0] / 2}; };
    CHECK_EQ(verdict_of(check_gradient(cut, g, {0.5})), "FAIL");
    CHECK_EQ(verdict_of(check_gradient(cut, g, {0.5}, {.noise = 5e-6})), "PASS");
    CHECK_EQ(verdict_of(check_gradient(cut, g, {0.5}, {.relative_noise = 1e-5})), "PASS");
    CHECK_EQ(verdict_of(check_gradient(cut, g, {0.5}, {.noise = 1e-9})), "FAIL");
    CHECK_EQ(check_gradient(cut, g, {0.5}, {.noise = 0.1}).verdict, Verdict::inconclusive);
}

TEST_CASE("resolution: a straight-through estimator, and a solver that may or may not be one") {
    const auto steps = [](const Plain& x) {
        double sum = 0;
        for (const double a : x) sum += std::round(a);
        return sum;
    };
    const auto ones = [](const Plain& x) { return Plain(x.size(), 1.0); };
    const GradcheckReport report = check_gradient(steps, ones, {1.3, -2.2, 0.7});
    CHECK_EQ(verdict_of(report), "INCONCLUSIVE (roundoff)");
    CHECK(contains(report.inputs.at(0).note, "f is constant here, the claim is not"));
    const auto zeros = [](const Plain& x) { return Plain(x.size(), 0.0); };
    CHECK_EQ(verdict_of(check_gradient(steps, zeros, {1.3, -2.2, 0.7})), "PASS");
    const Case one = fixed_points(1, 1e-6);
    const GradcheckReport either = check_gradient(one.f, one.gradient, one.x);
    CHECK_EQ(either.verdict, Verdict::inconclusive);
    CHECK(contains(either.inputs.at(0).note,
                   "the gradient is wrong, or f rounds or stops iterating"));
}
