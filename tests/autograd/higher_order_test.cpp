// Gradients of gradients: create_graph records the backward pass on the same tape.
#include <tapestry/ops/matmul.h>
#include <tapestry/ops/view.h>
#include <tapestry/tests/autograd/support.h>

#include <cmath>

using namespace tapestry;
using doctest::Approx;
using test::leaf;
using test::scalar_leaf;
using test::values;
using test::Values;

namespace {

Tensor derivative(Tape& tape, const Tensor& y, const Tensor& x) {
    return tape.gradient(y, {x}, {.create_graph = true})[0];
}

}  // namespace

TEST_CASE("create_graph: x^4, up to where it vanishes") {
    for (const bool as_power : {true, false}) {
        const Tensor x = scalar_leaf(1.5);
        Tape tape;
        Tensor y = as_power ? pow(x, 4.0) : x * x * x * x;
        for (const double expected : {4 * 3.375, 12 * 2.25, 24 * 1.5, 24.0, 0.0}) {
            y = derivative(tape, y, x);
            CHECK_EQ(y.item(), Approx(expected).epsilon(1e-14));
            if (!tape.follows(y)) break;  // a constant: all higher derivatives are zero
        }
    }
}

TEST_CASE("create_graph: three derivatives of tanh, in one walk each") {
    const Tensor x = leaf({-1.25, 0, 0.5});
    Tape tape;
    const Tensor t = tanh(x);
    const Tensor first = derivative(tape, sum(t), x);
    const Tensor second = derivative(tape, sum(first), x);
    const Tensor third = derivative(tape, sum(second), x);
    for (std::int64_t i = 0; i < 3; ++i) {
        const double y = std::tanh(x.at({i}));
        const double slope = 1 - y * y;
        CHECK_EQ(first.at({i}), Approx(slope).epsilon(1e-13));
        CHECK_EQ(second.at({i}), Approx(-2 * y * slope).epsilon(1e-13));
        CHECK_EQ(third.at({i}), Approx(-2 * slope * (1 - 3 * y * y)).epsilon(1e-13));
    }
}

TEST_CASE("create_graph: mixed partial derivatives do not depend on the order") {
    const double a = 0.75, b = -1.5;
    const Tensor x = scalar_leaf(a);
    const Tensor y = scalar_leaf(b);
    Tape tape;
    const Tensor f = square(x) * pow(y, 3.0) + sin(x * y);
    const Tensors first = tape.gradient(f, {x, y}, {.create_graph = true});
    CHECK_EQ(first[0].item(), Approx(2 * a * b * b * b + b * std::cos(a * b)));
    CHECK_EQ(first[1].item(), Approx(3 * a * a * b * b + a * std::cos(a * b)));
    const double mixed = 6 * a * b * b + std::cos(a * b) - a * b * std::sin(a * b);
    CHECK_EQ(derivative(tape, first[0], y).item(), Approx(mixed).epsilon(1e-13));
    CHECK_EQ(derivative(tape, first[1], x).item(), Approx(mixed).epsilon(1e-13));
}

TEST_CASE("create_graph: a Hessian, row by row") {
    // f = v0^2 v1 + exp(v1 v2)
    const double v0 = 0.5, v1 = -0.25, v2 = 2;
    const Tensor v = leaf({v0, v1, v2});
    Tape tape;
    const auto at = [](const Tensor& x, std::int64_t i) { return slice(x, 0, i, i + 1); };
    const Tensor f = square(at(v, 0)) * at(v, 1) + exp(at(v, 1) * at(v, 2));
    const Tensor g = derivative(tape, f, v);
    const double e = std::exp(v1 * v2);
    const std::vector<Values> hessian{
        {2 * v1, 2 * v0, 0},
        {2 * v0, v2 * v2 * e, e + v1 * v2 * e},
        {0, e + v1 * v2 * e, v1 * v1 * e},
    };
    for (std::int64_t row = 0; row < 3; ++row) {
        const Tensor line = tape.gradient(at(g, row), {v}, {.retain = true})[0];
        for (std::int64_t column = 0; column < 3; ++column) {
            CHECK_EQ(
                line.at({column}),
                Approx(hessian[static_cast<std::size_t>(row)][static_cast<std::size_t>(column)]));
        }
    }
}

TEST_CASE("create_graph: a gradient as part of a loss") {
    // loss = y + |dy/dx|^2 with y = sum (A x)^2 / 2: dy/dx = A^T A x, dloss/dx = (M + 2 M M) x
    const Tensor a = tensor<double>({{1, 2}, {0, 1}, {3, -1}});
    const Tensor x = leaf({0.5, -2});
    Tape tape;
    const Tensor y = sum(square(matmul(a, x))) * 0.5;
    const Tensor slope = derivative(tape, y, x);
    tape.backward(y + sum(square(slope)));
    const Tensor m = matmul(transpose(a, 0, 1), a);
    const NoGradGuard no_grad;
    const Tensor expected = matmul(m + 2.0 * matmul(m, m), x);
    for (const std::int64_t i : {0, 1}) CHECK_EQ(x.grad().at({i}), Approx(expected.at({i})));
}

TEST_CASE("create_graph: backward() leaves gradients that can be differentiated") {
    const Tensor x = scalar_leaf(2.0);
    Tape tape;
    tape.backward(pow(x, 3.0), {.create_graph = true});
    const Tensor slope = x.grad();
    CHECK_EQ(slope.item(), 12);
    REQUIRE(tape.follows(slope));
    CHECK_EQ(tape.gradient(slope, {x})[0].item(), 12);
}

TEST_CASE("create_graph: what is not asked for records nothing") {
    const Tensor x = scalar_leaf(2.0);
    Tape tape;
    const Tensor y = exp(x * x);
    const std::size_t before = tape.entries().size();
    const Tensor first = tape.gradient(y, {x}, {.retain = true})[0];
    CHECK_EQ(tape.entries().size(), before);
    CHECK_FALSE(tape.follows(first));
    CHECK(tape.follows(derivative(tape, y, x)));
    CHECK(tape.entries().size() > before);
}

TEST_CASE("create_graph: onto the tape that is asked, whichever records") {
    const Tensor x = scalar_leaf(2.0);
    Tape outer;
    const Tensor y = pow(x, 3.0);
    const Tape inner;
    const Tensor first = outer.gradient(y, {x}, {.create_graph = true})[0];
    CHECK(inner.entries().empty());
    REQUIRE(outer.follows(first));
    CHECK_EQ(outer.gradient(first, {x})[0].item(), 12);
}
