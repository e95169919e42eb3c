// Hot backward rules exist twice: one fused pass over memory for an ordinary backward, and the
// formula composed of recordable ops for higher-order gradients. The tests compare the two.
#include <tapestry/ops/activation.h>

#include <tapestry/core/create.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/check.h>
#include <tapestry/ops/comparison.h>
#include <tapestry/ops/elementwise.h>
#include <tapestry/ops/fusion.h>
#include <tapestry/ops/map.h>
#include <tapestry/ops/subscript.h>

#include <limits>

namespace tapestry {

// ---- relu, its square ---------------------------------------------------------------------------

namespace {
struct ReluOp final : Op {
    explicit ReluOp(const Tensor& x) : Op("relu", {x}) {}
    bool is_cheap() const override { return true; }
    Tensors forward(const Tensors& x) const override { return {relu(x[0])}; }
    Tensor decisions(const Tensors& x) const override { return side_of(x[0], 0); }
    Tensors backward(const Tensors& grads) override {
        const Tensor& x = saved(0);
        if (!is_recording()) return {map_binary<kernels::ReluGrad>("relu", grads[0], x)};
        return {where(le(x, 0), 0, grads[0])};
    }
};
}  // namespace

Tensor relu(const Tensor& x) {
    Tensor y = map_unary<kernels::Relu>("relu", x);
    return record<ReluOp>({x}, y, x);
}

namespace {
struct ReluSquaredOp final : Op {
    explicit ReluSquaredOp(const Tensor& x) : Op("relu_squared", {x}) {}
    bool is_cheap() const override { return true; }
    Tensors forward(const Tensors& x) const override { return {relu_squared(x[0])}; }
    Tensor decisions(const Tensors& x) const override { return side_of(x[0], 0); }
    Tensors backward(const Tensors& grads) override {
        const Tensor& x = saved(0);
        if (is_recording()) return {mul(grads[0] * relu(x), 2)};
        return {map_binary<kernels::ReluSquaredGrad>("relu_squared", grads[0], x)};
    }
};
}  // namespace

Tensor relu_squared(const Tensor& x) {
    Tensor y = map_unary<kernels::ReluSquared>("relu_squared", x);
    return record<ReluSquaredOp>({x}, y, x);
}

Tensor relu6(const Tensor& x) {
    check_floating("relu6", x);
    return clamp(x, 0, 6);
}

Tensor hardtanh(const Tensor& x, double low, double high) {
    check_floating("hardtanh", x);
    require(low <= high, "hardtanh: low must be at most high, got {} and {}", low, high);
    return clamp(x, low, high);
}

// ---- leaky_relu, elu ----------------------------------------------------------------------------

namespace {
struct LeakyReluOp final : Op {
    LeakyReluOp(const Tensor& x, double slope) : Op("leaky_relu", {x}), slope_(slope) {}
    std::string attributes() const override { return fmt::format("slope={}", slope_); }
    bool is_cheap() const override { return true; }
    Tensors forward(const Tensors& x) const override { return {leaky_relu(x[0], slope_)}; }
    Tensor decisions(const Tensors& x) const override { return side_of(x[0], 0); }
    Tensors backward(const Tensors& grads) override {
        const Tensor& x = saved(0);
        const Tensor& g = grads[0];
        if (is_recording()) return {where(gt(x, 0), g, mul(g, slope_))};
        return {map_ternary<kernels::LeakyReluGrad>("leaky_relu", g, x, scalar(slope_, x.dtype()))};
    }

private:
    double slope_;
};

struct EluOp final : Op {
    EluOp(const Tensor& x, double alpha) : Op("elu", {x}), alpha_(alpha) {}
    std::string attributes() const override { return fmt::format("alpha={}", alpha_); }
    Tensors forward(const Tensors& x) const override { return {elu(x[0], alpha_)}; }
    Tensor decisions(const Tensors& x) const override { return side_of(x[0], 0); }
    Tensors backward(const Tensors& grads) override {
        const Tensor& x = saved(0);
        const Tensor& g = grads[0];
        if (is_recording()) {  // e^x where x > 0 might overflow, and 0 times inf is NaN
            const Tensor below = clamp(x, -std::numeric_limits<double>::infinity(), 0);
            return {where(gt(x, 0), g, g * exp(below) * alpha_)};
        }
        return {map_ternary<kernels::EluGrad>("elu", g, x, scalar(alpha_, x.dtype()))};
    }

private:
    double alpha_;
};
}  // namespace

Tensor leaky_relu(const Tensor& x, double slope) {
    check_floating("leaky_relu", x);
    Tensor y = map_binary<kernels::LeakyRelu>("leaky_relu", x, scalar(slope, x.dtype()));
    return record<LeakyReluOp>({x}, y, x, slope);
}

Tensor elu(const Tensor& x, double alpha) {
    check_floating("elu", x);
    Tensor y = map_binary<kernels::Elu>("elu", x, scalar(alpha, x.dtype()));
    return record<EluOp>({x}, y, x, alpha);
}

// ---- composed of others -------------------------------------------------------------------------

Tensor hardswish(const Tensor& x) {
    check_floating("hardswish", x);
    return mul(mul(x, relu6(add(x, 3))), 1.0 / 6);
}

Tensor selu(const Tensor& x) {
    check_floating("selu", x);
    constexpr double kScale = 1.0507009873554804934193349852946;
    constexpr double kAlpha = 1.6732632423543772848170429916717;
    return mul(elu(x, kAlpha), kScale);
}

Tensor glu(const Tensor& x, int axis) {
    check_floating("glu", x);
    const int along = normalize_axis("glu", axis, x.rank());
    const std::int64_t size = x.size(along);
    require<ShapeError>(size % 2 == 0, "glu: the size {} of axis {} of {} is odd", size, axis,
                        x.shape());
    return mul(narrow(x, along, 0, size / 2), sigmoid(narrow(x, along, size / 2, size / 2)));
}

// ---- gelu ---------------------------------------------------------------------------------------

namespace {

constexpr double kGeluRate = kernels::GeluTanh::kTwoRootTwoOverPi;
constexpr double kGeluCubic = kernels::GeluTanh::kCubic;

// sigmoid(2u), 2u = k (x + c x^3): gelu's tanh form is x times this.
Tensor gelu_tanh_gate(const Tensor& x) {
    return sigmoid(mul(x * (1.0 + kGeluCubic * square(x)), kGeluRate));
}

// d/dx [x sigmoid(2u)] = s + x s (1 - s) (2u)'; the second term is 0 long before x is infinite
Tensor gelu_tanh_slope(const Tensor& x) {
    const Tensor s = gelu_tanh_gate(x);
    const Tensor finite = clamp(x, -100, 100);
    return s * (1.0 + finite * (1.0 - s) * (kGeluRate * (1.0 + 3 * kGeluCubic * square(finite))));
}

Tensor normal_density(const Tensor& x) {
    return mul(exp(mul(square(x), -0.5)), 0.39894228040143267794);  // 1 / sqrt(2 pi)
}

Tensor normal_cdf(const Tensor& x);

// Phi as a separate op, so the slope of gelu's erf form is itself differentiable.
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
        return {g * (normal_cdf(x) + clamp(x, -100, 100) * normal_density(x))};
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
        return {grads[0] * s * (1.0 + clamp(x, -1000, 1000) * (1.0 - s))};
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

// ---- logsigmoid, composed -----------------------------------------------------------------------

Tensor logsigmoid(const Tensor& x) {
    check_floating("logsigmoid", x);
    return neg(softplus(neg(x)));
}

// ---- softsign, mish -----------------------------------------------------------------------------

namespace {
struct SoftsignOp final : Op {
    explicit SoftsignOp(const Tensor& x) : Op("softsign", {x}) {}
    bool is_cheap() const override { return true; }
    Tensors forward(const Tensors& x) const override { return {softsign(x[0])}; }
    Tensors backward(const Tensors& grads) override {
        const Tensor& x = saved(0);
        if (!is_recording()) return {map_binary<kernels::SoftsignGrad>("softsign", grads[0], x)};
        return {mul(grads[0], square(reciprocal(abs(x) + 1)))};
    }
};

struct MishOp final : Op {
    explicit MishOp(const Tensor& x) : Op("mish", {x}) {}
    bool is_cheap() const override { return true; }
    Tensors forward(const Tensors& x) const override { return {mish(x[0])}; }
    Tensors backward(const Tensors& grads) override {
        const Tensor& x = saved(0);
        if (!is_recording()) return {map_binary<kernels::MishGrad>("mish", grads[0], x)};
        const Tensor t = tanh(softplus(x));
        return {grads[0] * (t + clamp(x, -1000, 1000) * sigmoid(x) * (1.0 - square(t)))};
    }
};
}  // namespace

Tensor softsign(const Tensor& x) {
    if (!fusion_enabled()) {
        check_floating("softsign", x);
        return div(x, abs(x) + 1);
    }
    Tensor y = map_unary<kernels::Softsign>("softsign", x);
    return record<SoftsignOp>({x}, y, x);
}

Tensor mish(const Tensor& x) {
    if (!fusion_enabled()) {
        check_floating("mish", x);
        return mul(x, tanh(softplus(x)));
    }
    Tensor y = map_unary<kernels::Mish>("mish", x);
    return record<MishOp>({x}, y, x);
}

}  // namespace tapestry
