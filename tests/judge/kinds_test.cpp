// Other forms of derivative: Jacobians, Hessians, several inputs, complex numbers; several points,
// and functions with state.
#include <tapestry/autograd/check/plain.h>
#include <tapestry/tests/judge/support.h>

#include <cmath>
#include <numeric>

using namespace tapestry;
using test::check_throws;
using test::verdict_of;
using Plain = std::vector<double>;

namespace {

Plain some(std::size_t n) {
    Plain x;
    for (std::size_t i = 0; i < n; ++i) x.push_back(0.4 + 0.1 * static_cast<double>(i % 17));
    return x;
}

// y_i = sin(x_i) x_(i+1): two nonzero diagonals.
Plain banded(const Plain& x) {
    Plain y;
    for (std::size_t i = 0; i + 1 < x.size(); ++i) y.push_back(std::sin(x[i]) * x[i + 1]);
    return y;
}

std::vector<JacobianEntry> band(const Plain& x) {
    std::vector<JacobianEntry> entries;
    for (std::size_t i = 0; i + 1 < x.size(); ++i) {
        entries.push_back({i, i, std::cos(x[i]) * x[i + 1]});
        entries.push_back({i, i + 1, std::sin(x[i]) / 2});
        entries.push_back({i, i + 1, std::sin(x[i]) / 2});  // added up
    }
    return entries;
}

Plain dense_band(const Plain& x) {
    Plain j((x.size() - 1) * x.size(), 0.0);
    for (const JacobianEntry& e : band(x)) j[e.row * x.size() + e.column] += e.value;
    return j;
}

// f = product of all x + sum of x^3
Plain gradient(const Plain& x) {
    Plain g;
    const double product = std::accumulate(x.begin(), x.end(), 1.0, std::multiplies<>());
    for (const double a : x) g.push_back(product / a + 3 * a * a);
    return g;
}

Plain hessian(const Plain& x) {
    const double product = std::accumulate(x.begin(), x.end(), 1.0, std::multiplies<>());
    Plain h;
    for (std::size_t i = 0; i < x.size(); ++i) {
        for (std::size_t j = 0; j < x.size(); ++j) {
            h.push_back(i == j ? 6 * x[i] : product / x[i] / x[j]);
        }
    }
    return h;
}

}  // namespace

TEST_CASE("check_jacobian: dense and sparse, few numbers and many") {
    for (const std::size_t n : {std::size_t{5}, std::size_t{40}, std::size_t{400}}) {
        const Plain x = some(n);
        const GradcheckReport dense = check_jacobian(banded, dense_band, x);
        CHECK_EQ(verdict_of(dense), "PASS");
        CHECK_EQ(dense.subject, "Jacobian");
        CHECK_EQ(verdict_of(check_jacobian(banded, band, x)), "PASS");
        // One entry off by a relative 1e-4; one missing; one that should be zero.
        const auto off = [](const Plain& at) {
            Plain j = dense_band(at);
            j[at.size() + 2] *= 1 + 1e-4;
            return j;
        };
        const auto left_out = [](const Plain& at) {
            auto entries = band(at);
            entries.erase(entries.begin() + 3);
            return entries;
        };
        const auto too_many = [](const Plain& at) {
            auto entries = band(at);
            entries.push_back({1, 0, 0.01});
            return entries;
        };
        CHECK_EQ(verdict_of(check_jacobian(banded, off, x)), "FAIL");
        CHECK_EQ(verdict_of(check_jacobian(banded, left_out, x)), "FAIL");
        CHECK_EQ(verdict_of(check_jacobian(banded, too_many, x)), "FAIL");
    }
}

TEST_CASE("check_jacobian: the wrong entry is named, and wrong sizes are refused") {
    const auto transposed = [](const Plain& x) {
        return Plain{2 * x[0], x[1], 0.0, x[0]};  // of {x0^2, x0 x1}: [[2 x0, 0], [x1, x0]]
    };
    const auto f = [](const Plain& x) { return Plain{x[0] * x[0], x[0] * x[1]}; };
    const GradcheckReport report = check_jacobian(f, transposed, {3, 2});
    CHECK_EQ(verdict_of(report), "FAIL");
    CHECK(test::contains(report.inputs.at(0).worst.where, "output element"));
    const auto short_one = [](const Plain& x) { return Plain{x[0], x[1]}; };
    check_throws<ShapeError>(
        [&] {
            check_jacobian(f, short_one, {3, 2});
        },
        "check_jacobian: 2 numbers, where f has 2 outputs and 2 inputs");
    const auto outside = [](const Plain&) { return std::vector<JacobianEntry>{{2, 0, 1.0}}; };
    check_throws<IndexError>(
        [&] {
            check_jacobian(f, outside, {3, 2});
        },
        "check_jacobian: entry [2, 0], where f has 2 outputs and 2 inputs");
}

TEST_CASE("check_hessian and check_hvp") {
    for (const std::size_t n : {std::size_t{4}, std::size_t{12}}) {
        const Plain x = some(n);
        const auto times = [](const Plain& h, const Plain& v) {
            Plain product(v.size(), 0.0);
            for (std::size_t i = 0; i < h.size(); ++i)
                product[i / v.size()] += h[i] * v[i % v.size()];
            return product;
        };
        const auto hvp = [&](const Plain& at, const Plain& v) { return times(hessian(at), v); };
        const GradcheckReport right = check_hessian(gradient, hessian, x);
        CHECK_EQ(verdict_of(right), "PASS");
        CHECK_EQ(right.subject, "Hessian");
        CHECK_EQ(verdict_of(check_hvp(gradient, hvp, x)), "PASS");
        const auto no_diagonal = [n](const Plain& at) {
            Plain h = hessian(at);
            for (std::size_t i = 0; i < n; ++i) h[i * n + i] /= 2;
            return h;
        };
        const auto upper_half = [n](const Plain& at) {
            Plain h = hessian(at);
            for (std::size_t i = 0; i < h.size(); ++i) h[i] *= i / n <= i % n ? 1 : 0;
            return h;
        };
        CHECK_EQ(verdict_of(check_hessian(gradient, no_diagonal, x)), "FAIL");
        CHECK_EQ(verdict_of(check_hessian(gradient, upper_half, x)), "FAIL");
        const auto wrong = [&](const Plain& at, const Plain& v) {
            return times(no_diagonal(at), v);
        };
        CHECK_EQ(verdict_of(check_hvp(gradient, wrong, x)), "FAIL");
    }
    const auto two = [](const Plain&) { return Plain{1, 2}; };
    check_throws<ShapeError>(
        [&] {
            check_hessian(gradient, two, {1, 2});
        },
        "check_hessian: 2 numbers, not 2 x 2");
    check_throws<ShapeError>(
        [&] {
            check_hessian(two, hessian, {1, 2, 3});
        },
        "check_hessian: the gradient has 2 numbers for 3 of x");
    check_throws<ShapeError>(
        [&] {
            check_hvp(two, [](const Plain&, const Plain&) { return Plain{1}; }, {1, 2});
        },
        "check_hvp: the product has 1 numbers for 2 of x");
}

TEST_CASE("check_pullback: several inputs") {
    // y = A x, A [2, 3]
    const auto f = [](const PlainInputs& in) {
        const Plain &a = in[0], &x = in[1];
        Plain y(2, 0.0);
        for (std::size_t i = 0; i < a.size(); ++i) y[i / 3] += a[i] * x[i % 3];
        return y;
    };
    const auto back = [](double factor) {
        return [factor](const PlainInputs& in, const Plain& g) {
            const Plain &a = in[0], &x = in[1];
            PlainInputs slopes{Plain(6, 0.0), Plain(3, 0.0)};
            for (std::size_t i = 0; i < a.size(); ++i) {
                slopes[0][i] = g[i / 3] * x[i % 3];
                slopes[1][i % 3] += factor * g[i / 3] * a[i];
            }
            return slopes;
        };
    };
    const PlainInputs inputs{{1, 2, -1, 0.5, 3, 1}, {0.2, -0.7, 1.1}};
    const GradcheckReport right = check_pullback(f, back(1), inputs, {}, {{2, 3}, {3}});
    CHECK_EQ(verdict_of(right), "PASS");
    CHECK_EQ(right.inputs.at(0).shape, Shape{2, 3});
    const GradcheckReport wrong = check_pullback(f, back(2), inputs);
    CHECK_EQ(wrong.inputs.at(0).verdict, Verdict::pass);
    CHECK_EQ(wrong.inputs.at(1).verdict, Verdict::fail);
    CHECK_EQ(wrong.inputs.at(1).name, "input 1");
    REQUIRE(wrong.first_wrong.has_value());
    CHECK_EQ(wrong.first_wrong->operand, 1);
    const auto one = [](const PlainInputs&, const Plain& g) { return PlainInputs{g}; };
    check_throws<ShapeError>([&] { check_pullback(f, one, inputs); },
                             "check_pullback: gradients of 1 inputs, where there are 2");
    check_throws<ShapeError>(
        [&] {
            check_pullback(f, back(1), inputs, {}, {{2, 3}});
        },
        "check_pullback: 1 shapes for 2 inputs");
    check_throws<ValueError>([&] { check_pullback(f, back(1), PlainInputs{}); },
                             "check_pullback: there are no inputs");
    check_throws<ValueError>(
        [&] {
            check_pullback(f, back(1), PlainInputs{{1}, {}});
        },
        "check_gradient: input 1 is empty");
}

TEST_CASE("complex numbers: the gradient is dL/da + i dL/db, as PyTorch has it") {
    using namespace std::complex_literals;
    // |z|^2 -> 2 z, and Re(z0 conj(z1))
    const auto f = [](const ComplexValues& z) {
        return std::norm(z[0]) + std::real(z[0] * std::conj(z[1]));
    };
    const auto grad = [](const ComplexValues& z) { return ComplexValues{2.0 * z[0] + z[1], z[0]}; };
    const auto conjugate = [&](const ComplexValues& z) {
        ComplexValues g = grad(z);
        for (auto& slope : g) slope = std::conj(slope);
        return g;
    };
    const ComplexValues z{1.0 + 2.0i, -0.5 + 0.3i};
    const GradcheckReport right = check_gradient(f, grad, z);
    CHECK_EQ(verdict_of(right), "PASS");
    CHECK_EQ(right.inputs.at(0).name, "z");
    CHECK_EQ(right.inputs.at(0).shape, Shape{2, 2});
    const GradcheckReport wrong = check_gradient(f, conjugate, z);
    CHECK_EQ(verdict_of(wrong), "FAIL");
    CHECK(test::contains(wrong.inputs.at(0).worst.where, ", 1]"));  // an imaginary part
}

TEST_CASE("complex numbers: the pullback of an analytic function is conj(f') g") {
    using namespace std::complex_literals;
    const auto f = [](const ComplexValues& z) {
        return ComplexValues{std::exp(z[0]), z[0] * z[1]};
    };
    const auto back = [](const ComplexValues& z, const ComplexValues& g) {
        return ComplexValues{std::conj(std::exp(z[0])) * g[0] + std::conj(z[1]) * g[1],
                             std::conj(z[0]) * g[1]};
    };
    const auto without_conj = [](const ComplexValues& z, const ComplexValues& g) {
        return ComplexValues{std::exp(z[0]) * g[0] + z[1] * g[1], z[0] * g[1]};
    };
    const ComplexValues z{0.3 - 1.1i, 2.0 + 0.7i};
    CHECK_EQ(verdict_of(check_pullback(f, back, z)), "PASS");
    CHECK_EQ(verdict_of(check_pullback(f, without_conj, z)), "FAIL");
    const auto one = [](const ComplexValues&, const ComplexValues& g) {
        return ComplexValues{g[0]};
    };
    check_throws<ShapeError>([&] { check_pullback(f, one, z); },
                             "check_gradient: the gradient has 1 numbers for 2 of z");
}

TEST_CASE("points: the limits hold for all points together") {
    const Plain x{0.3, 0.7};
    const auto f = [](const Plain& v) { return v[0] * v[1]; };
    const auto gradient = [](const Plain& v) { return Plain{v[1], v[0]}; };
    const GradcheckReport report =
        check_gradient(f, gradient, x, {.points = 1'000'000'000, .limits = {.evaluations = 300}});
    CHECK_LT(report.points.size(), 100);
    CHECK_EQ(report.verdict, Verdict::inconclusive);
    CHECK_FALSE(report.limit.empty());
    CHECK(report.points.back().what.find("after it") != std::string::npos);
}

TEST_CASE("points: a gradient that is right only at x is found at another point") {
    const auto f = [](const Plain& x) { return x[0] * x[1] + x[2] * x[2]; };
    const auto mixed_up = [](const Plain& x) { return Plain{x[0], x[1], 2 * x[2]}; };
    const Plain x{1, 1, 3};
    CHECK_EQ(verdict_of(check_gradient(f, mixed_up, x)), "PASS");
    const GradcheckReport report = check_gradient(f, mixed_up, x, {.points = 3});
    CHECK_EQ(verdict_of(report), "FAIL");
    REQUIRE_EQ(report.points.size(), 3);
    CHECK_EQ(report.points[0].what, "x");
    CHECK_EQ(report.points[0].verdict, Verdict::pass);
    CHECK_EQ(report.points[0].starts_with, std::vector<Plain>{x});
    CHECK_EQ(report.points[1].what, "random point 2");
    CHECK_EQ(report.points[1].verdict, Verdict::fail);
    for (std::size_t i = 0; i < 3; ++i) {
        const double there = report.points[2].starts_with.at(0).at(i);
        CHECK_NE(there, x[i]);
        CHECK_LE(std::abs(there - x[i]), x[i] / 2);
    }
    CHECK(test::contains(to_string(report), "\n  at x: PASS\n  at random point 2: FAIL\n"));
    check_throws<ValueError>([&] { check_gradient(f, mixed_up, x, {.points = 0}); },
                             "gradcheck: points must be positive, got 0");
}

TEST_CASE("points: within bounds, where f is defined, of tapes, and the leaves are put back") {
    const auto root = [](const Plain& x) {
        if (x[0] < 0.97) throw std::domain_error("too small");
        return std::sqrt(x[0] - 0.9);
    };
    const auto slope = [](const Plain& x) { return Plain{0.5 / std::sqrt(x[0] - 0.9)}; };
    const GradcheckReport near = check_gradient(root, slope, {1}, {.points = 6});
    CHECK_EQ(near.points.size(), 6);
    CHECK_EQ(near.points[0].verdict, Verdict::pass);
    for (const PointReport& point : near.points) CHECK_GE(point.starts_with.at(0).at(0), 0.9);
    const auto within = [](const Plain& x) {
        CHECK_GE(x[0], 0.95);
        CHECK_LE(x[0], 1.1);
        return x[0] * x[0];
    };
    const auto twice = [](const Plain& x) { return Plain{2 * x[0]}; };
    CHECK_EQ(verdict_of(check_gradient(within, twice, {1}, {.bounds = {{0.95, 1.1}}, .points = 5})),
             "PASS");
    const Tensor x = test::random({3}).set_requires_grad();
    const Plain before = test::values(x);
    const GradcheckReport tape =
        gradcheck([&] { return sin(x); }, NamedTensors{{"x", x}}, {.points = 2});
    CHECK_EQ(verdict_of(tape), "PASS");
    CHECK_EQ(tape.points.size(), 2);
    CHECK_EQ(test::values(x), before);
}

TEST_CASE("reset: a function that keeps something between calls") {
    int calls = 0;
    const auto f = [&calls](const Plain& x) { return x[0] * x[0] + 1e-3 * calls++; };
    const auto g = [](const Plain& x) { return Plain{2 * x[0]}; };
    CHECK_EQ(verdict_of(check_gradient(f, g, {1.5})), "INCONCLUSIVE (not deterministic)");
    const GradcheckOptions with_reset{.reset = [&calls] { calls = 0; }};
    CHECK_EQ(verdict_of(check_gradient(f, g, {1.5}, with_reset)), "PASS");
    const Tensor x = test::random({3}).set_requires_grad();
    const auto on_tape = [&] { return sin(x) * (1 + 1e-3 * calls++); };
    CHECK_EQ(gradcheck(on_tape, NamedTensors{{"x", x}}).reason, Reason::not_deterministic);
    CHECK_EQ(verdict_of(gradcheck(on_tape, NamedTensors{{"x", x}}, with_reset)), "PASS");
    CHECK_EQ(verdict_of(gradgradcheck(on_tape, NamedTensors{{"x", x}}, with_reset)), "PASS");
}
