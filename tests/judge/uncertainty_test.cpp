// How far a function and its gradient are from themselves is part of the tolerance, and what is
// small is looked at by itself. tests/mutations/templates draws the same classes by seed, over
// sizes and scales.
#include <tapestry/tests/judge/solver_cases.h>
#include <tapestry/tests/skip.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <random>

using namespace tapestry;
using namespace tapestry::test;

namespace {

// The sum in another order each time, as with atomics.
class AnyOrder {
public:
    double sum(Plain terms) const {
        std::shuffle(terms.begin(), terms.end(), *engine_);
        return std::accumulate(terms.begin(), terms.end(), 0.0);
    }

private:
    std::shared_ptr<std::mt19937> engine_ = std::make_shared<std::mt19937>(1);
};

// sum over 300 samples of sin(s x_0 + x_1)
Case samples(bool shuffled_f) {
    const AnyOrder order;
    const auto terms = [](const Plain& x, auto term) {
        Plain all;
        for (int s = 0; s < 300; ++s) all.push_back(term(0.01 * s, 0.01 * s * x[0] + x[1]));
        return all;
    };
    return {[=](const Plain& x) {
                const Plain all = terms(x, [](double, double at) { return std::sin(at); });
                return shuffled_f ? order.sum(all) : std::accumulate(all.begin(), all.end(), 0.0);
            },
            [=](const Plain& x) {
                return Plain{
                    order.sum(terms(x, [](double s, double at) { return s * std::cos(at); })),
                    order.sum(terms(x, [](double, double at) { return std::cos(at); }))};
            },
            {0.7, -0.4}};
}

}  // namespace

TEST_CASE("uncertainty: sums in any order are right, and resolved") {
    for (const bool shuffled_f : {false, true}) {
        const Case one = samples(shuffled_f);
        CHECK_EQ(verdict_of(check_gradient(one.f, one.gradient, one.x)), "PASS");
        const auto off = [&one](const Plain& x) {
            Plain g = one.gradient(x);
            g[1] *= 1.001;
            return g;
        };
        CHECK_EQ(verdict_of(check_gradient(one.f, off, one.x)), "FAIL");
    }
}

// y = x_0 sin(x_1), its rule off by an absolute 1e-9, as a solver's that stops at a tolerance
TEST_CASE("uncertainty: a rule that is good to an absolute tolerance is not called nonlinear") {
    const auto f = [](const Plain& x) { return Plain{x[0] * std::sin(x[1])}; };
    const auto back = [](double tolerance) {
        return [tolerance](const Plain& x, const Plain& g) {
            const auto stopped = [tolerance](double a) {
                return tolerance > 0 ? tolerance * std::round(a / tolerance) : a;
            };
            return Plain{stopped(g[0] * std::sin(x[1])), stopped(g[0] * x[0] * std::cos(x[1]))};
        };
    };
    for (const double tolerance : {1e-13, 1e-11, 1e-9, 1e-7, 1e-5}) {
        CAPTURE(tolerance);
        CHECK_NE(check_pullback(f, back(tolerance), {1.3, 0.4}).verdict, Verdict::fail);
    }
    CHECK_EQ(verdict_of(check_pullback(f, back(1e-13), {1.3, 0.4})), "PASS");
}

TEST_CASE("uncertainty: what cancels or underflows is not called wrong") {
    const auto versine = [](const Plain& x) { return (1 - std::cos(x[0])) / (x[0] * x[0]); };
    const auto slope = [](const Plain& x) { return Plain{-x[0] / 12}; };
    for (const double x : {1e-8, 3e-7, 1e-6, 1e-5, 1e-4, 1e-3}) {
        CAPTURE(x);
        CHECK_NE(check_gradient(versine, slope, {x}).verdict, Verdict::fail);
    }
    const auto squares = [](const Plain& x) { return x[0] * x[0] + x[1] * x[1]; };
    const auto twice = [](const Plain& x) { return Plain{2 * x[0], 2 * x[1]}; };
    const GradcheckReport lost = check_gradient(squares, twice, {1e-310, 2e-310});
    CHECK_EQ(verdict_of(lost), "INCONCLUSIVE (roundoff)");
    CHECK(contains(lost.inputs.at(0).note, "f is constant here, the claim is not"));
    // An input that f ignores, while others move it: a wrong claim.
    const auto first = [](const Plain& x) { return x[0] * x[0]; };
    CHECK_EQ(verdict_of(check_gradient(first, twice, {1, 2})), "FAIL");
}

TEST_CASE("sizes: a small entry is judged alike among 256 and among more") {
    for (const std::size_t n : {std::size_t{256}, std::size_t{257}, std::size_t{1000}}) {
        for (const double size : {1e-4, 1e-6, 1e-8, 1e-10}) {
            if (test::is_short() && size != 1e-6) continue;
            CAPTURE(n);
            CAPTURE(size);
            const auto weight = [size](std::size_t i) { return i == 77 ? size : 1.0; };
            const auto f = [&](const Plain& x) {
                double sum = 0;
                for (std::size_t i = 0; i < x.size(); ++i) sum += weight(i) * std::sin(x[i]);
                return sum;
            };
            const auto slopes = [&](double factor) {
                return [&weight, factor](const Plain& x) {
                    Plain g;
                    for (std::size_t i = 0; i < x.size(); ++i) {
                        g.push_back((i == 77 ? factor : 1) * weight(i) * std::cos(x[i]));
                    }
                    return g;
                };
            };
            const Plain x = drawn(n, n, 0.2, 1.2);
            const GradcheckReport right = check_gradient(f, slopes(1), x);
            const GradcheckReport wrong = check_gradient(f, slopes(-1), x);
            if (size < 1e-9) {  // at the limit of what f's last bit shows
                CHECK_NE(right.verdict, Verdict::fail);
                CHECK_NE(wrong.verdict, Verdict::pass);
                continue;
            }
            CHECK_EQ(verdict_of(right), "PASS");
            CHECK_EQ(right.inputs[0].classes.size(), n <= 256 ? 0 : 2);
            CHECK_EQ(verdict_of(wrong), "FAIL");
            CHECK_EQ(wrong.inputs[0].first_wrong, 77);
        }
    }
}

TEST_CASE("sizes: a report states what each class agrees to") {
    const auto f = [](const Plain& x) {
        double sum = 0;
        for (std::size_t i = 0; i < x.size(); ++i) sum += std::sin(x[i]) * (i < 10 ? 1e-6 : 1);
        return sum;
    };
    const auto g = [](const Plain& x) {
        Plain slopes;
        for (std::size_t i = 0; i < x.size(); ++i)
            slopes.push_back(std::cos(x[i]) * (i < 10 ? 1e-6 : 1));
        return slopes;
    };
    const GradcheckReport report = check_gradient(f, g, drawn(1, 400, 0.2, 1.2));
    CHECK_EQ(verdict_of(report), "PASS");
    const auto& classes = report.inputs.at(0).classes;
    REQUIRE_EQ(classes.size(), 2);
    CHECK_EQ(classes[0].entries, 390);
    CHECK_EQ(classes[1].entries, 10);
    CHECK_LT(classes[0].resolution, 1e-6);
    CHECK_LT(classes[1].resolution, 1e-3);
    CHECK_EQ(report.resolution, std::max(classes[0].resolution, classes[1].resolution));
    CHECK(contains(to_string(report), "10 entries"));
}

// From afar they average to nothing: steps of 1/128 and of 1/8192 agree with each other and not
// with the gradient.
TEST_CASE("uncertainty: ripples much finer than the usual steps do not fail a right gradient") {
    const double size = 1e-9, width = 1e-8;
    const auto f = [=](const std::vector<double>& x) {
        return x[0] * std::sin(x[0]) + size * std::sin(x[0] / width);
    };
    for (const double at : {0.3, 0.7, 1.1, 1.9}) {
        const double smooth = std::sin(at) + at * std::cos(at);
        const double slope = smooth + size / width * std::cos(at / width);
        const auto claimed = [](double value) {
            return [value](const std::vector<double>&) { return std::vector{value}; };
        };
        CAPTURE(at);
        CHECK_NE(check_gradient(f, claimed(slope), {at}).verdict, Verdict::fail);
        CHECK_EQ(check_gradient(f, claimed(slope + 1), {at}).verdict, Verdict::fail);
    }
}
