// Each function with its forward pass and backward rule; less common ones share one tape entry,
// FunctionOp, and have no gradient kernel.
#include <tapestry/ops/elementwise.h>

#include <tapestry/core/create.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/check.h>
#include <tapestry/ops/comparison.h>
#include <tapestry/ops/integer.h>
#include <tapestry/ops/map.h>
#include <tapestry/ops/reduction.h>
#include <tapestry/ops/rounding.h>

#include <numbers>

namespace tapestry {

// ---- neg, abs, square ---------------------------------------------------------------------------

namespace {
struct NegOp final : Op {
    NegOp() : Op("neg") {}
    Tensors forward(const Tensors& x) const override { return {neg(x[0])}; }
    Tensors backward(const Tensors& grads) override { return {neg(grads[0])}; }
};
}  // namespace

Tensor neg(const Tensor& x) {
    if (!is_floating(x.dtype())) return integer::neg(x);
    Tensor y = map_unary<kernels::Neg>("neg", x);
    return record<NegOp>({x}, y);
}

namespace {
struct AbsOp final : Op {
    explicit AbsOp(const Tensor& x) : Op("abs", {x}) {}
    Tensors forward(const Tensors& x) const override { return {abs(x[0])}; }
    Tensor decisions(const Tensors& x) const override { return side_of(x[0], 0); }
    Tensors backward(const Tensors& grads) override {
        const Tensor& x = saved(0);
        const Tensor& g = grads[0];
        if (!is_recording()) return {map_binary<kernels::AbsGrad>("abs", g, x)};
        return {where(eq(x, 0), 0, mul(g, sign(x)))};
    }
};
}  // namespace

Tensor abs(const Tensor& x) {
    if (!is_floating(x.dtype())) return integer::abs(x);
    Tensor y = map_unary<kernels::Abs>("abs", x);
    return record<AbsOp>({x}, y, x);
}

namespace {
struct SquareOp final : Op {
    explicit SquareOp(const Tensor& x) : Op("square", {x}) {}
    Tensors forward(const Tensors& x) const override { return {square(x[0])}; }
    Tensors backward(const Tensors& grads) override { return {mul(mul(grads[0], saved(0)), 2)}; }
};
}  // namespace

Tensor square(const Tensor& x) {
    if (!is_floating(x.dtype())) return integer::square(x);
    Tensor y = map_unary<kernels::Square>("square", x);
    return record<SquareOp>({x}, y, x);
}

// ---- reciprocal, sqrt, rsqrt --------------------------------------------------------------------

namespace {
struct ReciprocalOp final : Op {
    explicit ReciprocalOp(const Tensor& y) : Op("reciprocal", {y}) {}
    Tensors forward(const Tensors& x) const override { return {reciprocal(x[0])}; }
    Tensors backward(const Tensors& grads) override {
        return {neg(mul(grads[0], square(saved(0))))};
    }
};
}  // namespace

Tensor reciprocal(const Tensor& x) {
    check_floating("reciprocal", x);
    Tensor y = map_binary<kernels::Div>("reciprocal", scalar(1, x.dtype()), x);
    return record<ReciprocalOp>({x}, y, y);
}

namespace {
struct SqrtOp final : Op {
    explicit SqrtOp(const Tensor& y) : Op("sqrt", {y}) {}
    Tensors forward(const Tensors& x) const override { return {sqrt(x[0])}; }
    Tensors backward(const Tensors& grads) override { return {div(mul(grads[0], 0.5), saved(0))}; }
};
}  // namespace

Tensor sqrt(const Tensor& x) {
    Tensor y = map_unary<kernels::Sqrt>("sqrt", x);
    return record<SqrtOp>({x}, y, y);
}

namespace {
struct RsqrtOp final : Op {
    explicit RsqrtOp(const Tensor& y) : Op("rsqrt", {y}) {}
    Tensors forward(const Tensors& x) const override { return {rsqrt(x[0])}; }
    Tensors backward(const Tensors& grads) override {
        const Tensor& y = saved(0);
        return {mul(grads[0], mul(y, mul(square(y), -0.5)))};
    }
};
}  // namespace

Tensor rsqrt(const Tensor& x) {
    Tensor y = map_unary<kernels::Rsqrt>("rsqrt", x);
    return record<RsqrtOp>({x}, y, y);
}

// ---- exp, log -----------------------------------------------------------------------------------

namespace {
struct ExpOp final : Op {
    explicit ExpOp(const Tensor& y) : Op("exp", {y}) {}
    Tensors forward(const Tensors& x) const override { return {exp(x[0])}; }
    Tensors backward(const Tensors& grads) override { return {mul(grads[0], saved(0))}; }
};
}  // namespace

Tensor exp(const Tensor& x) {
    Tensor y = map_unary<kernels::Exp>("exp", x);
    return record<ExpOp>({x}, y, y);
}

namespace {
struct LogOp final : Op {
    explicit LogOp(const Tensor& x) : Op("log", {x}) {}
    Tensors forward(const Tensors& x) const override { return {log(x[0])}; }
    Tensors backward(const Tensors& grads) override { return {div(grads[0], saved(0))}; }
};
}  // namespace

Tensor log(const Tensor& x) {
    Tensor y = map_unary<kernels::Log>("log", x);
    return record<LogOp>({x}, y, x);
}

// ---- sin, cos -----------------------------------------------------------------------------------

namespace {
struct SinOp final : Op {
    explicit SinOp(const Tensor& x) : Op("sin", {x}) {}
    Tensors forward(const Tensors& x) const override { return {sin(x[0])}; }
    Tensors backward(const Tensors& grads) override { return {mul(grads[0], cos(saved(0)))}; }
};
}  // namespace

Tensor sin(const Tensor& x) {
    Tensor y = map_unary<kernels::Sin>("sin", x);
    return record<SinOp>({x}, y, x);
}

namespace {
struct CosOp final : Op {
    explicit CosOp(const Tensor& x) : Op("cos", {x}) {}
    Tensors forward(const Tensors& x) const override { return {cos(x[0])}; }
    Tensors backward(const Tensors& grads) override { return {neg(mul(grads[0], sin(saved(0))))}; }
};
}  // namespace

Tensor cos(const Tensor& x) {
    Tensor y = map_unary<kernels::Cos>("cos", x);
    return record<CosOp>({x}, y, x);
}

// ---- tanh, sigmoid: backward fused, or composed while recording ---------------------------------

namespace {
// g (1 - y^2) as a single tape entry: physics-informed networks use second derivatives, and call
// this more often than tanh itself.
Tensor tanh_grad(const Tensor& g, const Tensor& y);

struct TanhGradOp final : Op {
    TanhGradOp(const Tensor& g, const Tensor& y) : Op("tanh_grad", {g, y}) {}
    double flops() const override { return 3.0 * static_cast<double>(numel(outputs()[0].shape)); }
    Tensors forward(const Tensors& x) const override { return {tanh_grad(x[0], x[1])}; }
    Tensors backward(const Tensors& grads) override {
        const Tensor& h = grads[0];
        return {needs(0) ? tanh_grad(h, saved(1)) : Tensor(), needs(1) ? to_y(h) : Tensor()};
    }

private:
    Tensor to_y(const Tensor& h) const {
        const Tensor &g = saved(0), &y = saved(1);
        if (is_recording()) return mul(mul(mul(h, g), y), -2);
        return map_ternary<kernels::TanhGradGrad>("tanh", h, g, y);
    }
};

Tensor tanh_grad(const Tensor& g, const Tensor& y) {
    Tensor d = map_binary<kernels::TanhGrad>("tanh", g, y);
    return record<TanhGradOp>({g, y}, d, g, y);
}

struct TanhOp final : Op {
    explicit TanhOp(const Tensor& y) : Op("tanh", {y}) {}
    Tensors forward(const Tensors& x) const override { return {tanh(x[0])}; }
    Tensors backward(const Tensors& grads) override { return {tanh_grad(grads[0], saved(0))}; }
};
}  // namespace

Tensor tanh(const Tensor& x) {
    Tensor y = map_unary<kernels::Tanh>("tanh", x);
    return record<TanhOp>({x}, y, y);
}

namespace {
struct SigmoidOp final : Op {
    explicit SigmoidOp(const Tensor& y) : Op("sigmoid", {y}) {}
    Tensors forward(const Tensors& x) const override { return {sigmoid(x[0])}; }
    Tensors backward(const Tensors& grads) override {
        const Tensor& y = saved(0);
        if (!is_recording()) return {map_binary<kernels::SigmoidGrad>("sigmoid", grads[0], y)};
        return {mul(grads[0], mul(y, 1.0 - y))};
    }
};
}  // namespace

Tensor sigmoid(const Tensor& x) {
    Tensor y = map_unary<kernels::Sigmoid>("sigmoid", x);
    return record<SigmoidOp>({x}, y, y);
}

Tensor logit(const Tensor& x) {
    check_floating("logit", x);
    return sub(log(x), log1p(neg(x)));
}

// ---- one tape entry for all that follow ---------------------------------------------------------

namespace {

using In = const Tensor&;
using Function = Tensor (*)(In);
using Rule = Tensor (*)(In g, In x);

// y = f(x). The rule is g f'(x) in recordable ops, for all orders.
struct FunctionOp final : Op {
    FunctionOp(const char* name, Function f, Rule rule, const Tensor& x)
        : Op(name, {x}), f_(f), rule_(rule) {}

    Tensors forward(const Tensors& x) const override { return {f_(x[0])}; }
    Tensors backward(const Tensors& grads) override { return {rule_(grads[0], saved(0))}; }

private:
    Function f_;
    Rule rule_;
};

template <class F>
Tensor function(const char* name, const Tensor& x, Function self, Rule rule) {
    Tensor y = map_unary<F>(name, x);
    return record<FunctionOp>({x}, y, name, self, rule, x);
}

}  // namespace

// ---- logarithms, the exponential, the error function --------------------------------------------

Tensor log1p(In x) {
    return function<kernels::Log1p>("log1p", x, log1p, [](In g, In at) { return g / (at + 1); });
}

Tensor expm1(In x) {
    return function<kernels::Expm1>("expm1", x, expm1, [](In g, In at) { return g * exp(at); });
}

Tensor log2(In x) {
    return function<kernels::Log2>("log2", x, log2,
                                   [](In g, In at) { return g / (at * std::numbers::ln2); });
}

Tensor log10(In x) {
    return function<kernels::Log10>("log10", x, log10,
                                    [](In g, In at) { return g / (at * std::numbers::ln10); });
}

Tensor erf(In x) {
    return function<kernels::Erf>("erf", x, erf, [](In g, In at) {
        return g * (exp(-square(at)) * (2 * std::numbers::inv_sqrtpi));
    });
}

// ---- circular and hyperbolic --------------------------------------------------------------------

Tensor tan(In x) {
    return function<kernels::Tan>("tan", x, tan,
                                  [](In g, In at) { return g * (square(tan(at)) + 1); });
}

Tensor asin(In x) {
    return function<kernels::Asin>("asin", x, asin,
                                   [](In g, In at) { return g / sqrt((1 - at) * (1 + at)); });
}

Tensor acos(In x) {
    return function<kernels::Acos>("acos", x, acos,
                                   [](In g, In at) { return -(g / sqrt((1 - at) * (1 + at))); });
}

Tensor atan(In x) {
    return function<kernels::Atan>("atan", x, atan,
                                   [](In g, In at) { return g / (square(at) + 1); });
}

Tensor sinh(In x) {
    return function<kernels::Sinh>("sinh", x, sinh, [](In g, In at) { return g * cosh(at); });
}

Tensor cosh(In x) {
    return function<kernels::Cosh>("cosh", x, cosh, [](In g, In at) { return g * sinh(at); });
}

// ---- atan2 --------------------------------------------------------------------------------------

namespace {
struct Atan2Op final : Op {
    Atan2Op(const Tensor& y, const Tensor& x) : Op("atan2", {y, x}) {}
    Tensors forward(const Tensors& in) const override { return {atan2(in[0], in[1])}; }
    // The angle jumps by 2 pi where y changes sign left of the origin.
    Tensor decisions(const Tensors& in) const override { return side_of(in[0], 0); }
    Tensors backward(const Tensors& grads) override {
        const Tensor& y = saved(0);
        const Tensor& x = saved(1);
        const Tensor over_r2 = grads[0] / (square(x) + square(y));
        return {needs(0) ? sum_to(over_r2 * x, y.shape()) : Tensor(),
                needs(1) ? sum_to(-(over_r2 * y), x.shape()) : Tensor()};
    }
};
}  // namespace

Tensor atan2(const Tensor& y, const Tensor& x) {
    Tensor angle = map_binary<kernels::Atan2>("atan2", y, x);
    return record<Atan2Op>({y, x}, angle, y, x);
}

}  // namespace tapestry
