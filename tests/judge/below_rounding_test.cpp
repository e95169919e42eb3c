// Entries whose part of f is below f's rounding: no verdict but INCONCLUSIVE is true there. Entries
// that really are 0 pass as before.
#include <tapestry/tests/judge/plain_cases.h>

#include <algorithm>
#include <cmath>

using namespace tapestry;
using namespace tapestry::test;

namespace {

double sum_of_exponentials(const Plain& x) {
    double sum = 0;
    for (const double a : x) sum += std::exp(a);
    return sum;
}

// The right gradient, but entry 0 times `factor`.
PlainGradient exponentials_times(double factor) {
    return [factor](const Plain& x) {
        Plain g;
        for (const double a : x) g.push_back(std::exp(a));
        g[0] *= factor;
        return g;
    };
}

// Numbers around 0, and x[0].
Plain around_zero(std::size_t n, double first) {
    Plain x = drawn(7, n, -1, 1);
    x[0] = first;
    return x;
}

template <class F>
double sum_over(const Plain& x, F f) {
    double sum = 0;
    for (const double a : x) sum += f(a);
    return sum;
}

}  // namespace

TEST_CASE("below rounding: e^-40 next to e^0 is INCONCLUSIVE with any claim") {
    for (const std::size_t n : {2U, 20U, 300U}) {
        for (const double factor : {1.0, 0.0, -1.0, 2.0, 30.0}) {
            CAPTURE(n);
            CAPTURE(factor);
            const auto report = check_gradient(sum_of_exponentials, exponentials_times(factor),
                                               around_zero(n, -40), {.explain = false});
            CHECK_EQ(verdict_of(report), "INCONCLUSIVE (roundoff)");
            CHECK_EQ(report.inputs.at(0).wrong, 0);
        }
    }
    const auto report =
        check_gradient(sum_of_exponentials, exponentials_times(1), around_zero(3, -40));
    CHECK_EQ(report.inputs.at(0).inconclusive, 1);
    CHECK_EQ(report.inputs.at(0).unseen.at(0).where, "at [0]");
    CHECK(contains(report.inputs.at(0).note, "by less than it rounds"));
    const auto& classes = report.inputs.at(0).classes;
    REQUIRE_EQ(classes.size(), 2U);
    CHECK_EQ(classes[0].entries, 2);
    CHECK_LT(classes[0].resolution, 1e-6);
    CHECK_EQ(classes[1].entries, 1);
    CHECK_EQ(classes[1].resolution, 0);
}

TEST_CASE("below rounding: the same entry alone is judged") {
    const GradcheckOptions options{.explain = false};
    CHECK_EQ(verdict_of(check_gradient(sum_of_exponentials, exponentials_times(1), {-40}, options)),
             "PASS");
    CHECK_EQ(verdict_of(check_gradient(sum_of_exponentials, exponentials_times(2), {-40}, options)),
             "FAIL");
    // Each output by itself
    const auto each = [](const Plain& x) {
        Plain y;
        for (const double a : x) y.push_back(std::exp(a));
        return y;
    };
    const auto rule = [](double factor) {
        return [factor](const Plain& x, Plain g) {
            for (std::size_t i = 0; i < g.size(); ++i) g[i] *= std::exp(x[i]);
            g[0] *= factor;
            return g;
        };
    };
    CHECK_EQ(verdict_of(check_pullback(each, rule(1), {-40, 0, 1}, options)), "PASS");
    CHECK_EQ(verdict_of(check_pullback(each, rule(2), {-40, 0, 1}, options)), "FAIL");
}

TEST_CASE("below rounding: entries that are 0 pass, on either side of a kink or a mask") {
    const auto relu = [](double a) { return std::max(a, 0.0); };
    const auto step = [](double a) { return a > 0 ? 1.0 : 0.0; };
    const auto hinge = [](double a) { return a > 0 ? a * a : 0.0; };
    const auto twice = [](double a) { return a > 0 ? 2 * a : 0.0; };
    for (const std::size_t n : {4U, 300U}) {
        CAPTURE(n);
        const Plain x = around_zero(n, -0.1);
        const auto over = [](auto f) { return [f](const Plain& at) { return sum_over(at, f); }; };
        const auto each = [](auto f) {
            return [f](Plain at) {
                for (double& a : at) a = f(a);
                return at;
            };
        };
        CHECK_EQ(verdict_of(check_gradient(over(relu), each(step), x)), "PASS");
        CHECK_EQ(verdict_of(check_gradient(over(hinge), each(twice), x)), "PASS");
        const auto masked = [](const Plain& at) {
            return sum_of_exponentials(Plain(at.begin() + 1, at.end()));
        };
        CHECK_EQ(verdict_of(check_gradient(masked, exponentials_times(0), x)), "PASS");
    }
}

TEST_CASE("below rounding: a fast sine looks like noise from afar, and does not fail") {
    for (std::uint64_t seed = 1; seed <= 30; ++seed) {
        CAPTURE(seed);
        const Plain x = drawn(seed, 1 + seed % 3, 1e13, 4e13);
        const auto f = [](const Plain& at) {
            return sum_over(at, [](double a) { return 2 * std::sin(a); });
        };
        const auto g = [](Plain at) {
            for (double& a : at) a = 2 * std::cos(a);
            return at;
        };
        CHECK_NE(check_gradient(f, g, x, {.explain = false}).verdict, Verdict::fail);
    }
}

TEST_CASE("below rounding: a fast sine whose neighbours follow the claim does not fail") {
    for (const double at : {-110658210932176.38, 110183396172641.5, -110521548849074.22}) {
        CAPTURE(at);
        const auto f = [](const Plain& x) { return 2 * std::sin(x[0]); };
        const auto slope = [](double times) {
            return [times](const Plain& x) { return Plain{times * std::cos(x[0])}; };
        };
        CHECK_NE(check_gradient(f, slope(2), {at}).verdict, Verdict::fail);
        CHECK_NE(check_gradient(f, slope(3), {at}).verdict, Verdict::pass);
    }
}

TEST_CASE("below rounding: a claim off by a hundredth fails where f is steep") {
    const auto is_off = [](double (*f)(double), double at, double slope) {
        return check_gradient([f](const Plain& x) { return f(x[0]); },
                              [slope](const Plain&) { return Plain{1.01 * slope}; }, {at})
            .verdict;
    };
    CHECK_EQ(is_off([](double a) { return std::log(a); }, 1.001, 1 / 1.001), Verdict::fail);
    CHECK_EQ(is_off([](double a) { return std::sin(a); }, 3.14, std::cos(3.14)), Verdict::fail);
    CHECK_EQ(is_off([](double a) { return std::pow(a, 64); }, 1.1, 64 * std::pow(1.1, 63)),
             Verdict::fail);
}

TEST_CASE("below rounding: a wrong claim fails next to a minimum, where f rounds more than it is") {
    using OfOne = double (*)(double);
    const auto verdict = [](OfOne f, double at, double claim) {
        return check_gradient([f](const Plain& x) { return f(x[0]); },
                              [claim](const Plain&) { return Plain{claim}; }, {at},
                              {.explain = false})
            .verdict;
    };
    const auto square = [](double a) { return (a - 1) * (a - 1); };
    const auto versine = [](double a) { return 1 - std::cos(a); };
    const auto log_cosh = [](double a) { return std::log(std::cosh(a)); };
    for (const double away : {0.0316, 0.1, 0.01, 0.003}) {
        CAPTURE(away);
        CHECK_EQ(verdict(square, 1 + away, 2 * away), Verdict::pass);
        CHECK_EQ(verdict(square, 1 + away, -2 * away), Verdict::fail);
        CHECK_EQ(verdict(square, 1 + away, 2.01 * away), Verdict::fail);
        CHECK_EQ(verdict(versine, away, std::sin(away)), Verdict::pass);
        CHECK_EQ(verdict(versine, away, -std::sin(away)), Verdict::fail);
        CHECK_EQ(verdict(log_cosh, away, std::tanh(away)), Verdict::pass);
        CHECK_EQ(verdict(log_cosh, away, 1.3 * std::tanh(away)), Verdict::fail);
    }
}

TEST_CASE("below rounding: a wrong claim fails where f is large, or rounds its exponent") {
    const auto verdict = [](double size, double c, double at, double times) {
        return check_gradient(
                   [=](const Plain& x) { return size * std::exp(c * x[0]); },
                   [=](const Plain& x) { return Plain{times * size * c * std::exp(c * x[0])}; },
                   {at}, {.explain = false})
            .verdict;
    };
    for (const double size : {1e150, 1e170, 1e200, 1e300}) {
        CAPTURE(size);
        CHECK_EQ(verdict(size, 1, 0.7, 1), Verdict::pass);
        CHECK_EQ(verdict(size, 1, 0.7, 2), Verdict::fail);
    }
    // c x is rounded by a third of what a last bit of x moves it.
    const double c = 138.52002400589058, at = 1.1474294015931892;
    CHECK_EQ(verdict(1, c, at, 1), Verdict::pass);
    CHECK_EQ(verdict(1, c, at, 1 - 0.074952), Verdict::fail);
}

namespace {

// Softmax of rows of 6 logits, as the exponential of its logarithm.
Plain softmax_by_logarithms(Plain y) {
    for (auto row = y.begin(); row != y.end(); row += 6) {
        const double most = *std::max_element(row, row + 6);
        double sum = 0;
        for (auto at = row; at != row + 6; ++at) sum += std::exp(*at - most);
        for (auto at = row; at != row + 6; ++at) *at = std::exp(*at - (most + std::log(sum)));
    }
    return y;
}

Plain softmax_pullback(const Plain& x, Plain g) {
    const Plain p = softmax_by_logarithms(x);
    for (std::size_t from = 0; from < p.size(); from += 6) {
        double sum = 0;
        for (std::size_t i = from; i < from + 6; ++i) sum += g[i] * p[i];
        for (std::size_t i = from; i < from + 6; ++i) g[i] = p[i] * (g[i] - sum);
    }
    return g;
}

}  // namespace

// A probability next to 1 moves by jumps, of the last bit of its logit, and the one that it leaves
// moves smoothly: small steps show only the latter.
TEST_CASE("below rounding: an output that moves by jumps next to a smooth one does not fail") {
    const auto halved = [](const Plain& x, const Plain& g) {
        Plain slopes = softmax_pullback(x, g);
        for (double& slope : slopes) slope /= 2;
        return slopes;
    };
    for (const std::uint64_t seed : {1303U, 2630U, 2847U, 3581U}) {
        const Plain x = drawn(seed, 18, -600, 600);
        const GradcheckOptions options{.explain = false, .seed = seed};
        const auto report = check_pullback(softmax_by_logarithms, softmax_pullback, x, options);
        INFO(seed << "\n" << to_string(report));
        CHECK_NE(report.verdict, Verdict::fail);
        CHECK_EQ(check_pullback(softmax_by_logarithms, halved, x, options).verdict, Verdict::fail);
    }
}

TEST_CASE("below rounding: no class agrees that has an undecided entry") {
    // The last bit of 1e16 is 2: it hides the 2e-8 of the first entry, and the 2e-4 and 2 of the
    // next ones in other ways.
    const auto squares = [](const Plain& x) { return sum_over(x, [](double a) { return a * a; }); };
    const auto slopes = [](Plain x) {
        for (double& a : x) a *= 2;
        return x;
    };
    const auto report = check_gradient(squares, slopes, {1e-8, 1e-4, 1, 1e4, 1e8});
    CHECK_EQ(verdict_of(report), "INCONCLUSIVE (roundoff)");
    const InputReport& input = report.inputs.at(0);
    REQUIRE_EQ(input.classes.size(), 2U);
    CHECK_EQ(input.classes[1].entries, input.inconclusive);
    CHECK_EQ(input.classes[0].entries + input.classes[1].entries, 5);
    CHECK_GT(input.classes[0].least, 2e3);
}
