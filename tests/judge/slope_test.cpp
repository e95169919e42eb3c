// check_slope(): a claimed slope of a plain function of one number. It must accept right slopes,
// detect small errors, know its own error, and report when nothing can be seen.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <tapestry/autograd/check/quotients.h>
#include <tapestry/autograd/check/slope.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>

using namespace tapestry;
using namespace tapestry::checker;

namespace {

using Plain = std::function<double(double)>;

// What gradcheck does for an input of one number. `scale`: as set by other numbers of the input.
Judgement checked(const Plain& f, double x, double slope, double scale = 0,
                  const GradcheckLimits& limits = {}) {
    if (scale == 0) scale = x == 0 ? 1 : std::abs(x);
    Line line([&](double t) { return Sample{.values = {f(x + t)}}; }, scale);
    Neighbourhood around{.base = line.at(0)};
    for (const double bits : {-2, -1, 1, 2}) {
        around.shaken.push_back({f(x * (1 + std::ldexp(bits, -52)))});
    }
    const double size = std::isfinite(slope) ? std::abs(slope) : 0;
    const double rounding = std::numeric_limits<double>::epsilon() * size;
    return check_slope(line, {1}, around, {.slope = slope, .uncertainty = rounding, .scale = size},
                       limits);
}

std::string verdict_of(const Judgement& j) {
    std::string text(to_string(j.verdict));
    if (j.reason != Reason::none) text += fmt::format(" ({})", to_string(j.reason));
    return text;
}

// Between -0.5 and 0.5, a different number for every x.
double noise(double x) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &x, sizeof bits);
    bits = (bits ^ (bits >> 31U)) * 0x9e3779b97f4a7c15U;
    bits = (bits ^ (bits >> 29U)) * 0xbf58476d1ce4e5b9U;
    return static_cast<double>(bits >> 11U) * 0x1p-53 - 0.5;
}

struct Known {
    const char* name;
    Plain f;
    double x, slope;
    double scale = 0;
};

std::vector<Known> smooth() {
    std::vector<Known> cases{
        {"sin", [](double x) { return std::sin(x); }, 0.7, std::cos(0.7)},
        {"exp, large", [](double x) { return std::exp(x); }, 30, std::exp(30)},
        {"exp, small", [](double x) { return std::exp(x); }, -30, std::exp(-30.0)},
        {"tanh, nearly flat", [](double x) { return std::tanh(x); }, 7,
         1 / (std::cosh(7) * std::cosh(7))},
        {"1e8 + x", [](double x) { return 1e8 + x; }, 0.3, 1},
        {"1e8 + 1e4 sin x", [](double x) { return 1e8 + 1e4 * std::sin(x); }, 0.3,
         1e4 * std::cos(0.3)},
        {"x", [](double x) { return x; }, 3, 1},
        {"log", [](double x) { return std::log(x); }, 1e-9, 1e9},
        {"log, steps beyond its domain", [](double x) { return std::log(x); }, 1e-3, 1e3, 1},
        {"sqrt, steps beyond its domain", [](double x) { return std::sqrt(x); }, 1e-4, 50, 1},
        {"1 / x, steps across 0", [](double x) { return 1 / x; }, -0.01, -1e4, 1},
        {"x^10", [](double x) { return std::pow(x, 10); }, 0.5, 10 * std::pow(0.5, 9)},
    };
    for (int power = -6; power <= 6; ++power) {
        const double x = 1.3 * std::pow(10, power);
        cases.push_back({"cube", [](double y) { return y * y * y; }, x, 3 * x * x});
        cases.push_back({"sine scaled by its own x", [x](double y) { return std::sin(y / x); }, x,
                         std::cos(1) / x});
    }
    return cases;
}

}  // namespace

TEST_CASE("slope: right slopes pass, with an error no smaller than the true one") {
    for (const Known& known : smooth()) {
        const std::string what = fmt::format("{} at {}", known.name, known.x);
        CAPTURE(what);
        const Judgement j = checked(known.f, known.x, known.slope, known.scale);
        CHECK_EQ(verdict_of(j), "PASS");
        CHECK_GE(j.error, std::abs(j.numeric - known.slope));
        CHECK_LE(j.tolerance, 1e-6 * std::abs(known.slope));
        CHECK_EQ(j.above, known.f(known.x + j.step));
        CHECK_EQ(j.below, known.f(known.x - j.step));
    }
}

TEST_CASE("slope: slopes that are wrong by a little are wrong") {
    for (const Known& known : smooth()) {
        const std::string what = fmt::format("{} at {}", known.name, known.x);
        CAPTURE(what);
        for (const double factor : {1 + 1e-5, 1 - 1e-5, -1.0, 0.0, 2.0, 1e6}) {
            CAPTURE(factor);
            const Judgement j = checked(known.f, known.x, known.slope * factor, known.scale);
            CHECK_EQ(verdict_of(j), "FAIL");
            CHECK_GT(std::abs(j.numeric - known.slope * factor), j.tolerance);
        }
        for (const double bad : {static_cast<double>(NAN), static_cast<double>(INFINITY)}) {
            CHECK_EQ(verdict_of(checked(known.f, known.x, bad, known.scale)), "FAIL");
        }
    }
}

TEST_CASE("slope: what cannot be seen is neither right nor wrong") {
    // sin(a x): up to some a there is a step that resolves it; beyond that, the last bits of x hide
    // the slope, and finally all of f.
    int passed = 0;
    for (double a = 10; a < 1e11; a *= 3.7) {
        for (const double x : {0.3, 1.0, 2.7}) {
            CAPTURE(a);
            CAPTURE(x);
            const Plain f = [a](double y) { return std::sin(a * y); };
            const double slope = a * std::cos(a * x);
            const Judgement right = checked(f, x, slope);
            CHECK(right.verdict != Verdict::fail);
            if (right.verdict == Verdict::pass) ++passed;
            CHECK(checked(f, x, 1.003 * slope).verdict != Verdict::pass);
            if (a < 1e3) CHECK_EQ(verdict_of(checked(f, x, 1.001 * slope)), "FAIL");
        }
    }
    CHECK_GE(passed, 24);  // to a = 1e5 at least
    const Plain fast = [](double x) { return std::sin(1e6 * x); };
    CHECK_EQ(verdict_of(checked(fast, 1, 1e6 * std::cos(1e6))), "PASS");
    CHECK(checked(fast, 1, 1e6 * std::cos(1e6) * (1 + 1e-3)).verdict != Verdict::pass);
}

TEST_CASE("slope: noise is measured, and what it hides is said") {
    const double slope = std::cos(0.7);
    for (const double size : {1e-15, 1e-12, 1e-9, 1e-8, 1e-6, 1e-4, 1e-2}) {
        CAPTURE(size);
        const Plain f = [size](double x) { return std::sin(x) + size * noise(x); };
        const Judgement right = checked(f, 0.7, slope);
        CHECK(right.verdict != Verdict::fail);
        if (size < 1e-5) CHECK_EQ(verdict_of(right), "PASS");
        if (size > 1e-3) CHECK_EQ(right.verdict, Verdict::inconclusive);
        if (size < 1e-4) CHECK_GE(right.error, std::abs(right.numeric - slope));
        for (const double off : {1e-5, 1e-3, 1e-1}) {
            const Judgement wrong = checked(f, 0.7, slope * (1 + off));
            if (wrong.verdict == Verdict::pass) CHECK_GE(wrong.resolution, off);
        }
        if (size < 1e-14) CHECK_EQ(verdict_of(checked(f, 0.7, slope * (1 + 1e-5))), "FAIL");
        if (size < 1e-7) CHECK_EQ(verdict_of(checked(f, 0.7, slope * 2)), "FAIL");
    }
    // Demanding a finer resolution gives a weaker verdict.
    const Plain f = [](double x) { return std::sin(x) + 1e-9 * noise(x); };
    CHECK_EQ(verdict_of(checked(f, 0.7, slope, 0, {.resolution = 1e-9})).substr(0, 12),
             "INCONCLUSIVE");
    CHECK_EQ(verdict_of(checked(f, 0.7, slope * 1.01)), "FAIL");
}

TEST_CASE("slope: a slope of 0") {
    const auto check = [](const Plain& f, double x) {
        CHECK_EQ(verdict_of(checked(f, x, 0)), "PASS");
        for (const double wrong : {1e-3, -1e-7, 1e3}) {
            CHECK_EQ(verdict_of(checked(f, x, wrong)), "FAIL");
        }
    };
    check([](double) { return 5.0; }, 1);
    check([](double) { return 0.0; }, 1);
    check([](double x) { return std::cos(x); }, 0);
    check([](double x) { return 1 + x * x; }, 0);
    check([](double x) { return (x - 3) * (x - 3) + 2; }, 3);
}

TEST_CASE("slope: where there are no numbers, nothing can be said") {
    const auto says = [](const Plain& f, double x) { return verdict_of(checked(f, x, 0)); };
    CHECK_EQ(says([](double) { return NAN; }, 1), "INCONCLUSIVE (not finite)");
    CHECK_EQ(says([](double x) { return 1 / x; }, 0), "INCONCLUSIVE (not finite)");
    CHECK_EQ(says([](double x) { return std::log(x); }, 0), "INCONCLUSIVE (not finite)");
    CHECK_EQ(says([](double x) { return std::sqrt(x); }, 0), "INCONCLUSIVE (not finite)");
}

TEST_CASE("slope: what has no slope is not believed to have one") {
    const Plain jump = [](double x) { return x < 1 ? 0.0 : 1.0; };
    for (const double slope : {0.0, 0.5, 1.0}) {
        CHECK(checked(jump, 1, slope).verdict != Verdict::pass);
    }
    CHECK_EQ(verdict_of(checked(jump, 2, 0)), "PASS");
    const Plain root = [](double x) { return std::cbrt(x); };
    for (const double slope : {0.0, 1.0}) CHECK(checked(root, 0, slope).verdict != Verdict::pass);
    const Plain absolute = [](double x) { return std::abs(x); };  // does not report its kink
    for (const double slope : {-1.5, 1.5}) {
        CHECK(checked(absolute, 0, slope).verdict != Verdict::pass);
    }
}

TEST_CASE("slope: branches that the function reports") {
    const auto relu = [](double x, double slope) {
        Line line(
            [x](double t) {
                const double y = x + t;
                return Sample{.values = {y > 0 ? y : 0}, .branch = y > 0 ? 2U : (y == 0 ? 1U : 0U)};
            },
            1);
        const Neighbourhood around{.base = line.at(0), .shaken = {}};
        return check_slope(line, {1}, around, {.slope = slope, .uncertainty = 0, .scale = 1}, {});
    };
    for (const double slope : {0.0, 0.3, 1.0}) {
        const Judgement j = relu(0, slope);
        CHECK_EQ(verdict_of(j), "PASS");
        CHECK(j.subgradient);
    }
    for (const double slope : {-0.01, 1.01}) CHECK_EQ(verdict_of(relu(0, slope)), "FAIL");
    for (const double x : {1e-3, 1e-6, 1e-9}) {
        CHECK_EQ(verdict_of(relu(x, 1)), "PASS");
        CHECK_EQ(verdict_of(relu(-x, 0)), "PASS");
        CHECK_EQ(verdict_of(relu(x, 0.5)), "FAIL");
        CHECK_EQ(verdict_of(relu(-x, 0.5)), "FAIL");
        CHECK_FALSE(relu(x, 1).subgradient);
    }
    // A branch that differs at every step.
    Line restless(
        [](double t) {
            const int power = t == 0 ? 0 : std::ilogb(t) + 2000;
            return Sample{.values = {t}, .branch = static_cast<std::uint64_t>(power)};
        },
        1);
    const Neighbourhood around{.base = restless.at(0), .shaken = {}};
    const Claim claim{.slope = 1, .uncertainty = 0, .scale = 1};
    CHECK_EQ(verdict_of(check_slope(restless, {1}, around, claim, {})), "INCONCLUSIVE (kink)");
}

TEST_CASE("slope: several outputs are weighted, and those of weight 0 do not matter") {
    const auto verdict = [](const std::vector<double>& weights, double slope) {
        Line line(
            [](double t) {
                return Sample{.values = {std::sin(0.3 + t), std::exp(t), 1e9, t == 0 ? 0 : NAN}};
            },
            1);
        const Neighbourhood around{.base = line.at(0), .shaken = {}};
        const Claim claim{.slope = slope, .uncertainty = 0, .scale = 1};
        return verdict_of(check_slope(line, weights, around, claim, {}));
    };
    CHECK_EQ(verdict({2, -3, 0, 0}, 2 * std::cos(0.3) - 3), "PASS");
    CHECK_EQ(verdict({2, -3, 0, 0}, 2 * std::cos(0.3) - 3.0001), "FAIL");
    CHECK_EQ(verdict({0, 1, 0, 0}, 1), "PASS");
    CHECK_EQ(verdict({0, 1, 0, 1}, 1), "INCONCLUSIVE (not finite)");
}

TEST_CASE("line: every place is computed once") {
    std::vector<double> asked;
    Line line(
        [&](double t) {
            asked.push_back(t);
            return Sample{.values = {3 * t}};
        },
        2);
    CHECK_EQ(line.scale(), 2);
    CHECK_EQ(line.at(0.5).values[0], 1.5);
    line.at(-0.5);
    CHECK_EQ(line.at(0.5).values[0], 1.5);
    CHECK(asked == std::vector<double>{0.5, -0.5});
}

TEST_CASE("error_curve: truncation falls with the square of the step, until rounding takes over") {
    const auto f = [](double t) { return std::exp(1 + t); };
    Line line([f](double t) { return Sample{.values = {f(t)}}; }, 1);
    const Neighbourhood around{.base = line.at(0), .shaken = {}};
    const double slope = std::exp(1.0);
    const std::vector<double> weights{1};
    const auto curve = Quotients(line, weights, around).curve(slope);
    REQUIRE_GT(curve.size(), 30);
    for (std::size_t i = 0; i < curve.size(); ++i) {
        const CurvePoint& point = curve[i];
        CAPTURE(point.step);
        if (i > 0) CHECK_EQ(2 * point.step, curve[i - 1].step);
        CHECK_EQ(point.difference,
                 std::abs((f(point.step) - f(-point.step)) / (2 * point.step) - slope));
        const double truncation = slope * point.step * point.step / 6;
        CHECK_LE(point.difference, 1.1 * truncation + 4 * point.noise);
        if (truncation > 100 * point.noise) CHECK_GE(point.difference, 0.9 * truncation);
    }
    CHECK_GT(curve.back().noise, 1e6 * curve.front().noise);
}
