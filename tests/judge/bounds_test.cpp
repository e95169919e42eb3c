// Functions that are not defined everywhere: bounds, and functions that throw.
#include <tapestry/autograd/check/plain.h>
#include <tapestry/core/random.h>
#include <tapestry/tests/judge/support.h>

#include <cmath>
#include <limits>
#include <stdexcept>

using namespace tapestry;
using test::check_throws;
using test::verdict_of;
using Plain = std::vector<double>;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// sum of x^1.5, undefined for x < 0; `where` records where it was called.
struct Powers {
    double low = 0, high = kInfinity;
    double least = kInfinity, most = -kInfinity;

    double operator()(const Plain& x) {
        double sum = 0;
        for (std::size_t i = 0; i < x.size(); ++i) {
            least = std::min(least, x[i]);
            most = std::max(most, x[i]);
            sum += static_cast<double>(i + 1) * std::pow(x[i], 1.5);
        }
        return sum;
    }
};

Plain slopes(const Plain& x, double factor = 1) {
    Plain g;
    for (std::size_t i = 0; i < x.size(); ++i) {
        g.push_back(factor * static_cast<double>(i + 1) * 1.5 * std::sqrt(x[i]));
    }
    return g;
}

GradcheckReport check_powers(Powers& f, const Plain& x, double factor,
                             const GradcheckOptions& options) {
    return check_gradient([&f](const Plain& at) { return f(at); },
                          [factor](const Plain& at) { return slopes(at, factor); }, x, options);
}

}  // namespace

TEST_CASE("bounds: no number leaves them, of few numbers and of many") {
    for (const std::size_t n : {std::size_t{4}, std::size_t{1000}}) {
        const Plain x(n, 1.0);
        for (const double factor : {1.0, 1.01}) {
            Powers f;
            const auto report = check_powers(f, x, factor, {.bounds = {{0.9, 1.05}}});
            INFO(to_string(report));
            CHECK_EQ(verdict_of(report), factor == 1 ? "PASS" : "FAIL");
            CHECK_GE(f.least, 0.9);
            CHECK_LE(f.most, 1.05);
        }
    }
}

TEST_CASE("bounds: one for each number") {
    Powers f;
    const Plain x{1, 2, 3};
    const std::vector<Bounds> bounds{{0.5, 1.5}, {1.999, 2.001}, {0, kInfinity}};
    const auto within = [&](const Plain& at) {
        for (std::size_t i = 0; i < at.size(); ++i) {
            CHECK_GE(at[i], bounds[i].low);
            CHECK_LE(at[i], bounds[i].high);
        }
        return f(at);
    };
    const auto gradient = [](const Plain& at) { return slopes(at); };
    CHECK_EQ(verdict_of(check_gradient(within, gradient, x, {.bounds = bounds})), "PASS");
}

TEST_CASE("bounds: on one of them, steps go inwards") {
    for (const std::size_t n : {std::size_t{3}, std::size_t{600}}) {
        Plain x(n, 2.0);
        x[0] = 1;  // on the lower bound
        x[1] = 3;  // on the upper one
        x[n - 1] = 3;
        for (const double factor : {1.0, 1.001}) {
            Powers f;
            const auto report = check_powers(f, x, factor, {.bounds = {{1, 3}}});
            INFO(to_string(report));
            CHECK_EQ(verdict_of(report), factor == 1 ? "PASS" : "FAIL");
            CHECK_GE(f.least, 1);
            CHECK_LE(f.most, 3);
        }
    }
}

TEST_CASE("bounds: many numbers on them or near, of functions that are smooth and that round") {
    const auto sum_of_sines = [](const Plain& x) {
        double sum = 0;
        for (const double a : x) sum += std::sin(a) * a;
        return sum;
    };
    const auto in_f32 = [](const Plain& x) {
        float sum = 0;
        for (const double a : x) sum += std::sin(static_cast<float>(a)) * static_cast<float>(a);
        return static_cast<double>(sum);
    };
    const auto slopes_of_sines = [](double factor) {
        return [factor](const Plain& x) {
            Plain g;
            for (const double a : x) g.push_back(std::cos(a) * a + std::sin(a));
            g[0] *= factor;
            return g;
        };
    };
    for (std::uint64_t seed = 1; seed <= 9; ++seed) {
        const auto n = static_cast<std::int64_t>(seed % 3 == 0 ? 3 : seed % 3 == 1 ? 20 : 400);
        Generator generator(seed);
        Plain x = uniform({n}, 0.5, 2, generator, DType::f64).to_vector<double>();
        for (std::size_t i = 0; i < x.size(); i += 3) x[i] = i % 2 == 0 ? 0.5 : 2;
        x.back() = 2 * (1 - 1e-9);
        const GradcheckOptions options{.bounds = {{0.5, 2}}, .explain = false, .seed = seed};
        const auto verdict = [&](const PlainFunction& f, double factor) {
            return check_gradient(f, slopes_of_sines(factor), x, options).verdict;
        };
        INFO("seed " << seed);
        CHECK_EQ(verdict(sum_of_sines, 1), Verdict::pass);
        CHECK_EQ(verdict(sum_of_sines, 1.01), Verdict::fail);
        CHECK_NE(verdict(in_f32, 1), Verdict::fail);
    }
}

TEST_CASE("bounds: a number that cannot move is not judged") {
    for (const std::size_t n : {std::size_t{2}, std::size_t{600}}) {
        Powers f;
        Plain x(n, 2.0);
        x[0] = 1;
        std::vector<Bounds> bounds(n, {0, 5});
        bounds[0] = {1, 1};
        const auto report = check_powers(f, x, 1, {.bounds = bounds});
        CHECK_EQ(verdict_of(report), "INCONCLUSIVE (no room between bounds)");
        CHECK(report.inputs.at(0).worst.where.starts_with("at [0]"));
    }
}

TEST_CASE("bounds: hold for all leaves of a tape, and there is no -x then") {
    const auto f = [](const Tensors& x) {
        for (const Tensor& input : x) {
            for (const double a : input.to_vector<double>()) CHECK_GT(a, 0);
        }
        return log(x[0]) * sqrt(x[1]);
    };
    const Tensors x{tensor<double>({1, 2}), tensor<double>({0.5, 3})};
    CHECK_EQ(verdict_of(gradcheck(f, x, {.bounds = {{1e-3, 10}}})), "PASS");
    const std::vector<Bounds> each{{0.1, 9}, {1, 3}, {0.25, 1}, {2, 4}};
    CHECK_EQ(verdict_of(gradcheck(f, x, {.bounds = each})), "PASS");
    CHECK_EQ(verdict_of(gradgradcheck(f, x, {.bounds = {{1e-3, 10}}})), "PASS");
    CHECK_EQ(verdict_of(gradgradcheck(f, x, {.bounds = each})), "PASS");
}

TEST_CASE("bounds: what is refused") {
    const auto refused = [](const std::vector<Bounds>& bounds, const auto& kind,
                            const std::string& message) {
        using Kind = std::decay_t<decltype(kind)>;
        Powers f;
        check_throws<Kind>([&] { check_powers(f, {1, 2}, 1, {.bounds = bounds}); }, message);
    };
    refused({{0, 1}}, ValueError(""), "gradcheck: x [1] = 2 is outside its bounds [0, 1]");
    refused({{1.5, 3}}, ValueError(""), "gradcheck: x [0] = 1 is outside its bounds [1.5, 3]");
    refused({{0, 1}, {3, 1}}, ValueError(""),
            "gradcheck: x [1]: no number lies in its bounds [3, 1]");
    refused({{0, 1}, {0, 3}, {0, 3}}, ShapeError(""),
            "gradcheck: 3 bounds for 2 numbers; give one for all, or one each");
}

TEST_CASE("not defined: std::domain_error away from x is reported, and no reason to fail") {
    const auto f = [](const Plain& x) {
        if (x[0] < 0.9999) throw std::domain_error("f: x is less than 0.9999");
        return std::log(x[0]) + x[1];
    };
    const auto g = [](const Plain& x) { return Plain{1 / x[0], 1}; };
    const auto report = check_gradient(f, g, {1, 2});
    CHECK_EQ(verdict_of(report), "PASS");
    CHECK(report.not_defined.starts_with("x [0] = 0.5"));
    CHECK(report.not_defined.ends_with(": f: x is less than 0.9999"));
    CHECK(test::contains(to_string(report), "\n  not defined at x [0] = 0.5"));
    CHECK(check_gradient(f, g, {5, 2}).not_defined.empty());
}

TEST_CASE("not defined: so says an Error of the library's; all else goes through") {
    const auto throwing = [](auto error, bool at_x) {
        return [error, at_x](const Plain& x) {
            if ((x[0] == 1) == at_x) throw error;
            return x[0] * x[0];
        };
    };
    const auto g = [](const Plain& x) { return Plain{2 * x[0]}; };
    const auto elsewhere = check_gradient(throwing(ValueError("not here"), false), g, {1});
    CHECK_EQ(elsewhere.verdict, Verdict::inconclusive);
    CHECK(elsewhere.not_defined.ends_with(": not here"));
    check_throws<std::runtime_error>(
        [&] { check_gradient(throwing(std::runtime_error("disk full"), false), g, {1}); },
        "disk full");
    check_throws<std::out_of_range>(
        [&] { check_gradient(throwing(std::out_of_range("a mistake"), false), g, {1}); },
        "a mistake");
    check_throws<std::domain_error>(
        [&] { check_gradient(throwing(std::domain_error("at x"), true), g, {1}); }, "at x");
    check_throws<ValueError>([&] { check_gradient(throwing(ValueError("at x"), true), g, {1}); },
                             "at x");
}

TEST_CASE("not defined: the gradient may say so too, but not at x") {
    const auto f = [](const Plain& x) { return x[0] * x[0]; };
    const auto g = [](bool at_x) {
        return [at_x](const Plain& x) {
            if ((x[0] == 1) == at_x) throw std::domain_error("no gradient");
            return Plain{2 * x[0]};
        };
    };
    CHECK_EQ(verdict_of(check_gradient(f, g(false), {1})), "PASS");
    check_throws<std::domain_error>([&] { check_gradient(f, g(true), {1}); }, "no gradient");
}
