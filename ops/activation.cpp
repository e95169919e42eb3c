// Hot rules are there twice: one fused pass over memory for an ordinary backward, and the formula
// composed of recordable ops for gradients of gradients. The tests hold the two against each other.
#include <tapestry/ops/activation.h>

#include <tapestry/core/create.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/check.h>
#include <tapestry/ops/comparison.h>
#include <tapestry/ops/decisions.h>
#include <tapestry/ops/elementwise.h>
#include <tapestry/ops/fusion.h>
#include <tapestry/ops/map.h>

namespace tapestry {

// ---- relu ---------------------------------------------------------------------------------------

namespace {
struct ReluOp final : Op {
    explicit ReluOp(const Tensor& x) : Op("relu", {x}) {}
    bool is_cheap() const override { return true; }
    Tensors forward(const Tensors& x) const override { return {relu(x[0])}; }
    Tensor decisions(const Tensors& x) const override { return side_of(x[0], 0); }
    Tensors backward(const Tensors& grads) override {
        const Tensor& x = saved(0);
        if (!is_recording()) return {map_binary<kernels::ReluGrad>("relu", grads[0], x)};
        return {where(gt(x, 0), grads[0], scalar(0, x.dtype()))};
    }
};
}  // namespace

Tensor relu(const Tensor& x) {
    Tensor y = map_unary<kernels::Relu>("relu", x);
    return record<ReluOp>({x}, y, x);
}

// ---- gelu ---------------------------------------------------------------------------------------

namespace {

constexpr double k = kernels::GeluTanh::kTwoRootTwoOverPi;
constexpr double c = kernels::GeluTanh::kCubic;

// sigmoid(2u), 2u = k (x + c x^3): gelu's tanh form is x times this.
Tensor gelu_tanh_gate(const Tensor& x) { return sigmoid(mul(x * (1.0 + c * square(x)), k)); }

// d/dx [x sigmoid(2u)] = s + x s (1 - s) (2u)'
Tensor gelu_tanh_slope(const Tensor& x) {
    const Tensor s = gelu_tanh_gate(x);
    return s * (1.0 + x * (1.0 - s) * (k * (1.0 + 3 * c * square(x))));
}

Tensor normal_density(const Tensor& x) {
    return mul(exp(mul(square(x), -0.5)), 0.39894228040143267794);  // 1 / sqrt(2 pi)
}

Tensor normal_cdf(const Tensor& x);

// Phi, an op of its own so that the slope of gelu's erf form can be differentiated in turn.
struct NormalCdfOp final : Op {
    explicit NormalCdfOp(const Tensor& x) : Op("normal_cdf", {x}) {}
    Tensors forward(const Tensors& x) const override { return {normal_cdf(x[0])}; }
    Tensors backward(const Tensors& grads) override {
        return {mul(grads[0], normal_density(saved(0)))};
    }
};

Tensor normal_cdf(const Tensor& x) {
    Tensor y = map_unary<kernels::NormalCdf>("normal_cdf", x);
    return record<NormalCdfOp>({x}, y, x);
}

struct GeluOp final : Op {
    GeluOp(const Tensor& x, Gelu form) : Op("gelu", {x}), form_(form) {}
    std::string attributes() const override { return form_ == Gelu::tanh ? "tanh" : "erf"; }

    bool is_cheap() const override { return true; }
    Tensors forward(const Tensors& x) const override { return {gelu(x[0], form_)}; }
    Tensors backward(const Tensors& grads) override {
        const Tensor& x = saved(0);
        const Tensor& g = grads[0];
        if (!is_recording()) {
            return {form_ == Gelu::tanh ? map_binary<kernels::GeluTanhGrad>("gelu", g, x)
                                        : map_binary<kernels::GeluErfGrad>("gelu", g, x)};
        }
        if (form_ == Gelu::tanh) return {g * gelu_tanh_slope(x)};
        return {g * (normal_cdf(x) + x * normal_density(x))};
    }

private:
    Gelu form_;
};
}  // namespace

Tensor gelu(const Tensor& x, Gelu form) {
    if (!fusion_enabled()) {
        check_floating("gelu", x);
        return mul(x, form == Gelu::tanh ? gelu_tanh_gate(x) : normal_cdf(x));
    }
    Tensor y = form == Gelu::tanh ? map_unary<kernels::GeluTanh>("gelu", x)
                                  : map_unary<kernels::GeluErf>("gelu", x);
    return record<GeluOp>({x}, y, x, form);
}

// ---- silu ---------------------------------------------------------------------------------------

namespace {
struct SiluOp final : Op {
    explicit SiluOp(const Tensor& x) : Op("silu", {x}) {}
    bool is_cheap() const override { return true; }
    Tensors forward(const Tensors& x) const override { return {silu(x[0])}; }
    Tensors backward(const Tensors& grads) override {
        const Tensor& x = saved(0);
        if (!is_recording()) return {map_binary<kernels::SiluGrad>("silu", grads[0], x)};
        const Tensor s = sigmoid(x);
        return {grads[0] * s * (1.0 + x * (1.0 - s))};
    }
};
}  // namespace

Tensor silu(const Tensor& x) {
    if (!fusion_enabled()) {
        check_floating("silu", x);
        return mul(x, sigmoid(x));
    }
    Tensor y = map_unary<kernels::Silu>("silu", x);
    return record<SiluOp>({x}, y, x);
}

// ---- softplus -----------------------------------------------------------------------------------

namespace {
struct SoftplusOp final : Op {
    explicit SoftplusOp(const Tensor& x) : Op("softplus", {x}) {}
    Tensors forward(const Tensors& x) const override { return {softplus(x[0])}; }
    Tensors backward(const Tensors& grads) override { return {grads[0] * sigmoid(saved(0))}; }
};
}  // namespace

Tensor softplus(const Tensor& x) {
    Tensor y = map_unary<kernels::Softplus>("softplus", x);
    return record<SoftplusOp>({x}, y, x);
}

}  // namespace tapestry
