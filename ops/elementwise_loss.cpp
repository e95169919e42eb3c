// Losses of pairs of numbers: composed of a difference if they depend only on that; else one pass
// over memory in each direction.
#include <tapestry/ops/loss.h>

#include <tapestry/autograd/tape.h>
#include <tapestry/core/create.h>
#include <tapestry/ops/activation.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/check.h>
#include <tapestry/ops/elementwise.h>
#include <tapestry/ops/map.h>
#include <tapestry/ops/reduction.h>

namespace tapestry {
namespace {

void check_pair(std::string_view op, const Tensor& x, const Tensor& y) {
    check_floating(op, x);
    check_same_dtype(op, x, y);
    require<ShapeError>(x.shape() == y.shape(), "{}: shapes differ: {} and {}; expand() first", op,
                        x.shape(), y.shape());
}

Tensor reduced(const Tensor& losses, Reduction reduction) {
    if (reduction == Reduction::none) return losses;
    return reduction == Reduction::sum ? sum(losses) : mean(losses);
}

}  // namespace

// ---- mse_loss, l1_loss --------------------------------------------------------------------------

Tensor mse_loss(const Tensor& x, const Tensor& y, Reduction reduction) {
    check_pair("mse_loss", x, y);
    return reduced(square(sub(x, y)), reduction);
}

Tensor l1_loss(const Tensor& x, const Tensor& y, Reduction reduction) {
    check_pair("l1_loss", x, y);
    return reduced(abs(sub(x, y)), reduction);
}

// ---- quantile_loss ------------------------------------------------------------------------------

Tensor quantile_loss(const Tensor& x, const Tensor& y, double q, Reduction reduction) {
    check_pair("quantile_loss", x, y);
    require(q > 0 && q < 1, "quantile_loss: q must be between 0 and 1, got {}", q);
    const Tensor d = sub(y, x);
    return reduced(maximum(mul(d, q), mul(d, q - 1)), reduction);
}

// ---- huber_loss, smooth_l1_loss -----------------------------------------------------------------

namespace {
Tensor huber(const Tensor& d, double delta);

struct HuberOp final : Op {
    HuberOp(const Tensor& d, double delta) : Op("huber", {d}), delta_(delta) {}
    std::string attributes() const override { return fmt::format("delta={}", delta_); }
    Tensors forward(const Tensors& x) const override { return {huber(x[0], delta_)}; }
    Tensor decisions(const Tensors& x) const override {
        return how_many({ge(x[0], -delta_), gt(x[0], delta_)});
    }
    Tensors backward(const Tensors& grads) override {
        const Tensor& d = saved(0);
        const Tensor& g = grads[0];
        if (is_recording()) return {mul(g, clamp(d, -delta_, delta_))};
        return {map_ternary<kernels::HuberGrad>("huber", g, d, scalar(delta_, d.dtype()))};
    }

private:
    double delta_;
};

Tensor huber(const Tensor& d, double delta) {
    Tensor losses = map_binary<kernels::Huber>("huber", d, scalar(delta, d.dtype()));
    return record<HuberOp>({d}, losses, d, delta);
}
}  // namespace

Tensor huber_loss(const Tensor& x, const Tensor& y, Reduction reduction, double delta) {
    check_pair("huber_loss", x, y);
    require(delta > 0, "huber_loss: delta must be > 0, got {}", delta);
    return reduced(huber(sub(x, y), delta), reduction);
}

Tensor smooth_l1_loss(const Tensor& x, const Tensor& y, Reduction reduction, double beta) {
    check_pair("smooth_l1_loss", x, y);
    require(beta >= 0, "smooth_l1_loss: beta must be >= 0, got {}", beta);
    if (beta == 0) return l1_loss(x, y, reduction);
    return div(reduced(huber(sub(x, y), beta), reduction), beta);
}

// ---- binary cross-entropy -----------------------------------------------------------------------

namespace {
Tensor bce_with_logits(const Tensor& x, const Tensor& y);

struct BceWithLogitsOp final : Op {
    BceWithLogitsOp(const Tensor& x, const Tensor& y) : Op("bce_with_logits", {x, y}) {}
    Tensors forward(const Tensors& x) const override { return {bce_with_logits(x[0], x[1])}; }
    Tensors backward(const Tensors& grads) override {
        const Tensor& x = saved(0);
        const Tensor& y = saved(1);
        const Tensor& g = grads[0];
        Tensors result(2);
        if (needs(0)) {
            result[0] = is_recording() ? mul(g, sub(sigmoid(x), y))
                                       : map_ternary<kernels::BceWithLogitsGrad>(name(), g, x, y);
        }
        if (needs(1)) result[1] = neg(mul(g, x));
        return result;
    }
};

Tensor bce_with_logits(const Tensor& x, const Tensor& y) {
    Tensor losses = map_binary<kernels::BceWithLogits>("bce_with_logits", x, y);
    return record<BceWithLogitsOp>({x, y}, losses, x, y);
}

void check_weight(const char* what, const Tensor& weight, const Tensor& x) {
    constexpr const char* kOp = "binary_cross_entropy_with_logits";
    check_same_dtype(kOp, x, weight);
    bool fits = weight.rank() <= x.rank();
    for (int axis = 1; fits && axis <= weight.rank(); ++axis) {
        fits = weight.size(-axis) == 1 || weight.size(-axis) == x.size(-axis);
    }
    require<ShapeError>(fits, "{}: {} {} does not broadcast to {}", kOp, what, weight.shape(),
                        x.shape());
}
}  // namespace

Tensor binary_cross_entropy_with_logits(const Tensor& x, const Tensor& y,
                                        const BceOptions& options) {
    check_pair("binary_cross_entropy_with_logits", x, y);
    Tensor losses;
    if (options.pos_weight.defined()) {  // both terms are small where the loss is
        check_weight("pos_weight", options.pos_weight, x);
        losses = options.pos_weight * y * softplus(neg(x)) + (1.0 - y) * softplus(x);
    } else {
        losses = bce_with_logits(x, y);
    }
    if (options.weight.defined()) {
        check_weight("weight", options.weight, x);
        losses = mul(losses, options.weight);
    }
    return reduced(losses, options.reduction);
}

namespace {
Tensor bce(const Tensor& x, const Tensor& y);

struct BceOp final : Op {
    BceOp(const Tensor& x, const Tensor& y) : Op("binary_cross_entropy", {x, y}) {}
    Tensors forward(const Tensors& x) const override { return {bce(x[0], x[1])}; }
    Tensors backward(const Tensors& grads) override {
        const Tensor& x = saved(0);
        const Tensor& y = saved(1);
        const Tensor& g = grads[0];
        Tensors result(2);
        if (needs(0) && is_recording()) {
            const Tensor spread = maximum(x * (1.0 - x), scalar(1e-12, x.dtype()));
            result[0] = g * sub(x, y) / spread;
        } else if (needs(0)) {
            result[0] = map_ternary<kernels::BceGrad>(name(), g, x, y);
        }
        if (needs(1)) {
            const Tensor least = scalar(-100, x.dtype());
            result[1] = g * (maximum(log(1.0 - x), least) - maximum(log(x), least));
        }
        return result;
    }
};

Tensor bce(const Tensor& x, const Tensor& y) {
    Tensor losses = map_binary<kernels::Bce>("binary_cross_entropy", x, y);
    return record<BceOp>({x, y}, losses, x, y);
}
}  // namespace

Tensor binary_cross_entropy(const Tensor& x, const Tensor& y, Reduction reduction) {
    check_pair("binary_cross_entropy", x, y);
    return reduced(bce(x, y), reduction);
}

// ---- kl_div -------------------------------------------------------------------------------------

namespace {
Tensor kl_elements(const Tensor& x, const Tensor& y);

struct KlDivOp final : Op {
    KlDivOp(const Tensor& x, const Tensor& y) : Op("kl_div", {x, y}) {}
    Tensors forward(const Tensors& x) const override { return {kl_elements(x[0], x[1])}; }
    Tensors backward(const Tensors& grads) override {
        const Tensor& x = saved(0);
        const Tensor& y = saved(1);
        return {needs(0) ? neg(mul(grads[0], y)) : Tensor(),
                needs(1) ? grads[0] * (log(y) - x + 1) : Tensor()};
    }
};

Tensor kl_elements(const Tensor& x, const Tensor& y) {
    Tensor losses = map_binary<kernels::KlDiv>("kl_div", x, y);
    return record<KlDivOp>({x, y}, losses, x, y);
}
}  // namespace

Tensor kl_div(const Tensor& x, const Tensor& y, const KlDivOptions& options) {
    check_pair("kl_div", x, y);
    const Tensor parts = options.log_target ? mul(exp(y), sub(y, x)) : kl_elements(x, y);
    if (options.reduction != KlReduction::batchmean) {
        return reduced(parts, options.reduction == KlReduction::mean  ? Reduction::mean
                              : options.reduction == KlReduction::sum ? Reduction::sum
                                                                      : Reduction::none);
    }
    const std::int64_t batch = x.rank() == 0 ? 1 : x.size(0);
    return div(sum(parts), static_cast<double>(batch));
}

}  // namespace tapestry
