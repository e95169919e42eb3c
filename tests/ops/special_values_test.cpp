// Infinities, NaN and the ends of the range, which random samples miss, on every instruction set.
#include <doctest/doctest.h>
#include <tapestry/autograd/tape.h>
#include <tapestry/core/cpu.h>
#include <tapestry/core/create.h>
#include <tapestry/ops/activation.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/comparison.h>
#include <tapestry/ops/elementwise.h>
#include <tapestry/ops/pooling.h>
#include <tapestry/ops/reduction.h>
#include <tapestry/ops/view.h>

#include <array>
#include <cmath>
#include <limits>

using namespace tapestry;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// 19 copies, to cover both whole vectors and a tail.
double apply(Tensor (*f)(const Tensor&), double x, DType dtype) {
    const Tensor y = f(full({19}, x, dtype));
    const auto values = y.to_vector<double>();
    for (const double value : values) {
        const bool same = value == values[0] || (std::isnan(value) && std::isnan(values[0]));
        CHECK_MESSAGE(same, "an element's value depends on where it stands");
    }
    return values[0];
}

void check_everywhere(Tensor (*f)(const Tensor&), double x, double wanted) {
    const Isa before = current_isa();
    for (const Isa isa : available_isas()) {
        set_isa(isa);
        for (const DType dtype : {DType::f32, DType::f64}) {
            CAPTURE(x);
            CAPTURE(std::string(name_of(isa)));
            const double got = apply(f, x, dtype);
            const double allowed = 1e-6 * std::max(1.0, std::abs(wanted));
            const bool close = got == wanted || std::abs(got - wanted) <= allowed ||
                               (std::isnan(got) && std::isnan(wanted));
            CHECK_MESSAGE(close, got << " instead of " << wanted);
        }
    }
    set_isa(before);
}

}  // namespace

TEST_CASE("special values: functions of one number") {
    check_everywhere(exp, -kInf, 0);
    check_everywhere(exp, kInf, kInf);
    check_everywhere(exp, kNan, kNan);
    check_everywhere(exp, 0, 1);
    check_everywhere(log, 0, -kInf);
    check_everywhere(log, -1, kNan);
    check_everywhere(log, kInf, kInf);
    check_everywhere(sqrt, -1, kNan);
    check_everywhere(sqrt, kInf, kInf);
    check_everywhere(rsqrt, 0, kInf);
    check_everywhere(rsqrt, kInf, 0);
    check_everywhere(abs, -kInf, kInf);
    check_everywhere(tanh, kInf, 1);
    check_everywhere(tanh, -kInf, -1);
    check_everywhere(tanh, kNan, kNan);
    check_everywhere(sigmoid, -1000, 0);
    check_everywhere(sigmoid, 1000, 1);
    check_everywhere(sigmoid, kNan, kNan);
    check_everywhere(sin, kInf, kNan);
}

Tensor gelu_tanh(const Tensor& x) { return gelu(x, Gelu::tanh); }
Tensor gelu_erf(const Tensor& x) { return gelu(x, Gelu::erf); }

TEST_CASE("special values: activations") {
    check_everywhere(relu, kNan, kNan);
    check_everywhere(relu, kInf, kInf);
    check_everywhere(relu, -kInf, 0);
    check_everywhere(softplus, 1000, 1000);
    check_everywhere(softplus, -1000, 0);
    check_everywhere(softplus, kNan, kNan);
    check_everywhere(silu, 1000, 1000);
    check_everywhere(silu, -1000, 0);
    check_everywhere(gelu_tanh, 1000, 1000);
    check_everywhere(gelu_tanh, -1000, 0);
    check_everywhere(gelu_erf, 1000, 1000);
    check_everywhere(gelu_erf, -1000, 0);
    check_everywhere(gelu_erf, kNan, kNan);
}

template <Tensor (*f)(const Tensor&), bool kCreateGraph = false>
Tensor gradient_of(const Tensor& x) {
    const Tensor leaf = x.clone().set_requires_grad();
    Tape tape;
    return tape.gradient(sum(f(leaf)), {leaf}, {.create_graph = kCreateGraph})[0];
}

TEST_CASE("special values: gradients of activations far out") {
    for (const auto gradient : {gradient_of<gelu_tanh>, gradient_of<gelu_erf>, gradient_of<silu>}) {
        for (const double x : {1e3, 1e14, 1e20, 3e38}) {
            check_everywhere(gradient, x, 1);
            check_everywhere(gradient, -x, 0);
        }
        check_everywhere(gradient, kNan, kNan);
    }
}

TEST_CASE("special values: gradients of relu and abs at 0 and NaN, by either form of the rule") {
    const auto check = [](const auto& gradients, double at_nan, double below) {
        for (const auto gradient : gradients) {
            check_everywhere(gradient, kNan, at_nan);
            check_everywhere(gradient, 0, 0);
            check_everywhere(gradient, -0.0, 0);
            check_everywhere(gradient, -2, below);
        }
    };
    check(std::array{gradient_of<relu>, gradient_of<relu, true>}, 1, 0);
    check(std::array{gradient_of<relu_squared>, gradient_of<relu_squared, true>}, kNan, 0);
    check(std::array{gradient_of<abs>, gradient_of<abs, true>}, kNan, -1);
}

TEST_CASE("special values: maximum and minimum keep NaN on either side") {
    check_everywhere([](const Tensor& x) { return maximum(x, ones_like(x)); }, kNan, kNan);
    check_everywhere([](const Tensor& x) { return maximum(ones_like(x), x); }, kNan, kNan);
    check_everywhere([](const Tensor& x) { return minimum(x, ones_like(x)); }, kNan, kNan);
    check_everywhere([](const Tensor& x) { return minimum(ones_like(x), x); }, kNan, kNan);
    check_everywhere([](const Tensor& x) { return clamp(x, -1, 1); }, kNan, kNan);
    check_everywhere([](const Tensor& x) { return clamp(x, -1, 1); }, kInf, 1);
    check_everywhere([](const Tensor& x) { return maximum(x, ones_like(x)); }, -kInf, 1);
}

TEST_CASE("special values: max_pool2d takes the first of equals, NaN before all, -inf as well") {
    Tensor x = tensor<double>({{1, 3, -kInf, -kInf, kNan, 2},  //
                               {3, 3, -kInf, -kInf, 5, kNan}});
    x = x.clone().set_requires_grad();
    Tape tape;
    const Tensor y = max_pool2d(reshape(x, {1, 1, 2, 6}), 2);
    CHECK_EQ(y.at({0, 0, 0, 0}), 3);
    CHECK_EQ(y.at({0, 0, 0, 1}), -kInf);
    CHECK(std::isnan(y.at({0, 0, 0, 2})));
    tape.backward(y, {.cotangent = tensor(std::vector<double>{1, 10, 100}, {1, 1, 1, 3})});
    CHECK_EQ(x.grad().to_vector<double>(),
             std::vector<double>{0, 1, 10, 0, 100, 0, 0, 0, 0, 0, 0, 0});
}

TEST_CASE("special values: what is close, and to what") {
    const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
    const Tensor a = tensor<double>({inf, inf, 1, -inf, nan, 0, 1e8});
    const Tensor b = tensor<double>({inf, -inf, inf, 1, nan, 1e-8, 1e8 + 999});
    const auto expected = [](std::vector<double> values) { return values; };
    CHECK_EQ(isclose(a, b).to_vector<double>(), expected({1, 0, 0, 0, 0, 1, 1}));
    CHECK_EQ(isclose(a, b, 1e-5, 1e-8, true).to_vector<double>(), expected({1, 0, 0, 0, 1, 1, 1}));
    CHECK_EQ(isclose(a, b, 0, 0).to_vector<double>(), expected({1, 0, 0, 0, 0, 0, 0}));
    CHECK(allclose(ones({3}), ones({3}) * (1 + 1e-6)));
    CHECK_FALSE(allclose(ones({3}), tensor<float>({1, 1, 1.001F})));
    CHECK(allclose(ones({0}), ones({1})));
    CHECK(allclose(arange(5), arange(5)));
}
