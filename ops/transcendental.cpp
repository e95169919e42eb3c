#include <tapestry/ops/transcendental.h>

#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/decisions.h>
#include <tapestry/ops/elementwise.h>
#include <tapestry/ops/map.h>
#include <tapestry/ops/reduction.h>

#include <numbers>

namespace tapestry {
namespace {

using In = const Tensor&;
using Function = Tensor (*)(In);
using Rule = Tensor (*)(In g, In x);

// y = f(x). The rule is g f'(x) in recordable ops: one for all orders.
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
                                   [](In g, In at) { return g / sqrt(1 - square(at)); });
}

Tensor acos(In x) {
    return function<kernels::Acos>("acos", x, acos,
                                   [](In g, In at) { return -(g / sqrt(1 - square(at))); });
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
    // The angle jumps by 2 pi where y changes its sign left of the origin.
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
