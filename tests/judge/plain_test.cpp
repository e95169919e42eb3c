// Functions and gradients over plain arrays.
#include <tapestry/autograd/check/plain.h>
#include <tapestry/tests/judge/support.h>

#include <cmath>

using namespace tapestry;
using test::check_throws;
using test::verdict_of;
using Plain = std::vector<double>;

namespace {

// x0^2 x1 + sin x2
double value(const Plain& x) { return x[0] * x[0] * x[1] + std::sin(x[2]); }
Plain gradient(const Plain& x) { return {2 * x[0] * x[1], x[0] * x[0], std::cos(x[2])}; }

}  // namespace

TEST_CASE("check_gradient: right and wrong") {
    const Plain x{1.5, -2, 0.3};
    const GradcheckReport right = check_gradient(value, gradient, x);
    CHECK_EQ(verdict_of(right), "PASS");
    CHECK_EQ(right.subject, "plain function");
    const auto wrong = [](const Plain& at) {
        Plain g = gradient(at);
        g[1] *= 1 + 1e-6;
        return g;
    };
    const GradcheckReport report = check_gradient(value, wrong, x);
    CHECK_EQ(verdict_of(report), "FAIL");
    CHECK(report.inputs.at(0).worst.where.starts_with("at [1]"));
    const auto nearly_right = [](const Plain& at) {
        Plain g = gradient(at);
        g[1] *= 1 + 1e-7;
        return g;
    };
    const GradcheckReport open = check_gradient(value, nearly_right, x);
    CHECK_EQ(verdict_of(open), "INCONCLUSIVE (undeclared error)");
    CHECK(test::contains(to_string(open), "in places, by less than 2e-7 of an entry"));
    const auto doubled = [](const Plain& at) {
        Plain g = gradient(at);
        for (double& slope : g) slope *= 2;
        return g;
    };
    const GradcheckReport twice = check_gradient(value, doubled, x);
    REQUIRE(twice.first_wrong.has_value());
    CHECK_EQ(twice.first_wrong->cause.mistake, Mistake::factor);
}

TEST_CASE("check_gradient: many numbers are checked along directions") {
    const Plain x(2000, 0.7);
    const auto f = [](const Plain& at) {
        double sum = 0;
        for (std::size_t i = 0; i < at.size(); ++i) {
            sum += std::sin(at[i] * static_cast<double>(1 + i % 7));
        }
        return sum;
    };
    const auto g = [](std::size_t wrong_at) {
        return [wrong_at](const Plain& at) {
            Plain slopes;
            for (std::size_t i = 0; i < at.size(); ++i) {
                const auto k = static_cast<double>(1 + i % 7);
                slopes.push_back(k * std::cos(at[i] * k) * (i == wrong_at ? -1 : 1));
            }
            return slopes;
        };
    };
    const GradcheckReport report = check_gradient(f, g(x.size()), x);
    CHECK_EQ(verdict_of(report), "PASS");
    CHECK_EQ(report.inputs.at(0).method, "3 random directions");
    CHECK_GT(report.certainty, 0.999);
    CHECK_EQ(verdict_of(check_gradient(f, g(1234), x)), "FAIL");
}

TEST_CASE(
    "check_gradient: on a kink any slope between both sides is right, without a tape to see") {
    const auto relu = [](const Plain& x) { return std::max(x[0], 0.0) + x[1]; };
    const auto claims = [&](double slope) {
        const auto g = [slope](const Plain&) { return Plain{slope, 1}; };
        return verdict_of(check_gradient(relu, g, {0, 1}));
    };
    CHECK_EQ(claims(0), "PASS");
    CHECK_EQ(claims(0.5), "PASS");
    CHECK_EQ(claims(1), "PASS");
    CHECK_EQ(claims(1.5), "FAIL");
    CHECK_EQ(claims(-0.1), "FAIL");
    const auto flat = [](const Plain&) { return Plain{0, 1}; };
    CHECK_EQ(check_gradient(relu, flat, {0, 1}).inputs[0].note,
             "on a kink of f: the gradient lies between the slopes on both sides");
}

TEST_CASE("check_gradient: at a minimum, where f is even, a claim that is not 0 fails") {
    const auto rosenbrock = [](const Plain& x) {
        double sum = 0;
        for (std::size_t i = 0; i + 1 < x.size(); ++i) {
            const double steep = x[i + 1] - x[i] * x[i], flat = 1 - x[i];
            sum += 100 * steep * steep + flat * flat;
        }
        return sum;
    };
    for (const std::size_t n : std::vector<std::size_t>{2, 3, 5}) {
        const Plain x(n, 1);
        const auto claims = [&](double last) {
            const auto g = [last](const Plain& at) {
                Plain slopes(at.size(), 0.0);
                slopes.back() = last;
                return slopes;
            };
            return verdict_of(check_gradient(rosenbrock, g, x));
        };
        CHECK_EQ(claims(0), "PASS");
        for (const double wrong : {1e-6, 1e-3, -1.0, 30.0}) CHECK_EQ(claims(wrong), "FAIL");
    }
}

TEST_CASE("check_pullback: a hand-written backward with = for +=") {
    const auto f = [](const Plain& bias) {
        Plain y;
        for (int row = 0; row < 4; ++row) {
            for (const double b : bias) y.push_back(std::tanh(b + 0.2 * row));
        }
        return y;
    };
    const auto pullback = [&f](bool adds) {
        return [&f, adds](const Plain& bias, const Plain& g) {
            const Plain y = f(bias);
            Plain slopes(bias.size(), 0.0);
            for (std::size_t i = 0; i < y.size(); ++i) {
                double& slope = slopes[i % bias.size()];
                slope = (adds ? slope : 0) + g[i] * (1 - y[i] * y[i]);
            }
            return slopes;
        };
    };
    const Plain x{0.1, -0.4, 0.8};
    CHECK_EQ(verdict_of(check_pullback(f, pullback(true), x, {}, {3}, {4, 3})), "PASS");
    const GradcheckReport report = check_pullback(f, pullback(false), x, {}, {3}, {4, 3});
    CHECK_EQ(verdict_of(report), "FAIL");
    REQUIRE(report.first_wrong.has_value());
    CHECK_EQ(report.first_wrong->cause.mistake, Mistake::missing_sum);
}

TEST_CASE("check_gradient: what it refuses") {
    check_throws<ValueError>([] { check_gradient(value, gradient, {}); },
                             "check_gradient: x is empty");
    check_throws<ShapeError>(
        [] {
            check_gradient(value, [](const Plain&) { return Plain{1}; }, {1, 2, 3});
        },
        "check_gradient: the gradient has 1 numbers for 3 of x");
    const auto same = [](const Plain& x) { return x; };
    const auto back = [](const Plain&, const Plain& g) { return g; };
    check_throws<ShapeError>(
        [&] {
            check_pullback(same, back, {1, 2}, {}, {3});
        },
        "check_gradient: 2 numbers for a shape of [3]");
    check_throws<ShapeError>(
        [&] {
            check_pullback(same, back, {1, 2}, {}, {2}, {5});
        },
        "check_gradient: f gave 2 numbers for a shape of [5]");
    const auto nothing = [](const Plain&) { return Plain{}; };
    const auto zeros = [](const Plain& x, const Plain&) { return Plain(x.size(), 0.0); };
    check_throws<ValueError>(
        [&] {
            check_pullback(nothing, zeros, {1, 2});
        },
        "check_gradient: f gave no numbers");
}

TEST_CASE("check_pullback: a backward that keeps something between calls") {
    const auto f = [](const Plain& x) { return Plain{x[0] * x[1], x[0]}; };
    const auto pullback = [kept = Plain{0, 0}](const Plain& x, const Plain& g) mutable {
        kept[0] += g[0] * x[1] + g[1];
        kept[1] += g[0] * x[0];
        return kept;
    };
    const GradcheckReport report = check_pullback(f, pullback, {1.5, -2});
    CHECK_EQ(verdict_of(report), "FAIL");
    CHECK(
        test::contains(test::complaints_of(report), "the same incoming gradient gave two results"));
}

TEST_CASE("check_gradient: NaN or infinity where f is smooth is wrong") {
    const auto f = [](const Plain& x) { return x[0] * x[0] + std::sin(x[1]); };
    for (const double bad : {std::nan(""), HUGE_VAL, -HUGE_VAL}) {
        const auto rule = [bad](const Plain& x) { return Plain{bad, std::cos(x[1])}; };
        CHECK_EQ(verdict_of(check_gradient(f, rule, {0.7, -1.2})), "FAIL");
    }
}

TEST_CASE("check_pullback: NaN or infinity where f does not move is wrong") {
    // where(x > 0, sqrt x, 0), whose rule gives 0 * NaN where x is negative
    const auto f = [](Plain x) {
        for (double& a : x) a = a > 0 ? std::sqrt(a) : 0;
        return x;
    };
    for (const double bad : {std::nan(""), HUGE_VAL}) {
        const auto rule = [bad](const Plain& x, Plain g) {
            for (std::size_t i = 0; i < x.size(); ++i) {
                g[i] = x[i] > 0 ? g[i] / (2 * std::sqrt(x[i])) : bad;
            }
            return g;
        };
        const GradcheckReport report = check_pullback(f, rule, {-1, 1, 2});
        CHECK_EQ(verdict_of(report), "FAIL");
        REQUIRE(report.first_wrong.has_value());
        CHECK_EQ(report.first_wrong->cause.mistake, Mistake::not_finite);
        const auto nowhere = [](const Plain&) { return Plain{3}; };
        const auto bad_rule = [bad](const Plain& x, const Plain&) { return Plain(x.size(), bad); };
        CHECK_EQ(verdict_of(check_pullback(nowhere, bad_rule, {-1, 1, 2})), "FAIL");
    }
    // At the end of f's domain, where f is not finite either, nothing can be said.
    const auto log = [](Plain x) {
        for (double& a : x) a = std::log(a);
        return x;
    };
    const auto slope = [](const Plain& x, Plain g) {
        for (std::size_t i = 0; i < x.size(); ++i) g[i] /= x[i];
        return g;
    };
    CHECK_EQ(verdict_of(check_pullback(log, slope, {0, 1, 2})), "INCONCLUSIVE (not finite)");
}
