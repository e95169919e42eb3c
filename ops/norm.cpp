// Layer norm and RMS norm differ only by the mean. Each is in the order check, forward, fused
// backward, recordable backward.
#include <tapestry/ops/norm.h>

#include <tapestry/autograd/tape.h>
#include <tapestry/core/copy.h>
#include <tapestry/core/create.h>
#include <tapestry/core/loop.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/check.h>
#include <tapestry/ops/elementwise.h>
#include <tapestry/ops/fusion.h>
#include <tapestry/ops/reduce_axes.h>
#include <tapestry/ops/reduction.h>
#include <tapestry/ops/rows.h>

#include <algorithm>

namespace tapestry {
namespace {

// Rows per chunk; depends only on the shape. Weight and bias gradients are summed per chunk, so
// chunks should be few, but enough for every thread.
std::int64_t rows_per_chunk(std::int64_t rows, std::int64_t n) {
    constexpr std::int64_t kMaxChunks = 256;
    const std::int64_t wanted = kGrain / 4 / std::max<std::int64_t>(n, 1);
    return std::max<std::int64_t>({1, wanted, (rows + kMaxChunks - 1) / kMaxChunks});
}

void check_norm(std::string_view op, const Tensor& x, double eps) {
    check_floating(op, x);
    require<ShapeError>(x.rank() >= 1, "{}: a scalar has no last axis to normalise", op);
    require<ValueError>(eps >= 0, "{}: eps must be >= 0, got {}", op, eps);
}

void check_affine(std::string_view op, std::string_view name, const Tensor& x, const Tensor& p) {
    if (!p.defined()) return;
    check_same_dtype(op, x, p);
    require<ShapeError>(p.shape() == Shape{x.shape().back()},
                        "{}: {} is {}, but the last axis of {} needs [{}]", op, name, p.shape(),
                        x.shape(), x.shape().back());
}

// The rows of x's last axis, in chunks that each make a row of partial sums.
Rows rows_of(const Tensor& x) {
    const std::int64_t n = x.shape().back(), rows = n == 0 ? 0 : x.numel() / n;
    return {rows, n, rows_per_chunk(rows, n)};
}

// [chunks, n], for sums over the rows of a chunk.
Tensor partial_sums(const Rows& rows, DType dtype) {
    return Tensor({(rows.count + rows.chunk - 1) / rows.chunk, rows.n}, dtype);
}

// The weight as kernels read it: f32 for half-precision x.
Tensor or_ones(const Tensor& weight, const Tensor& x) {
    const DType dtype = compute_dtype(x.dtype());
    return weight.defined() ? dense(cast(weight, dtype)) : ones({x.shape().back()}, dtype);
}

// [chunks, n] -> [n], in the order of the chunks.
Tensor sum_chunks(const Tensor& partial, DType dtype) {
    AxisMask rows{};
    rows[0] = true;
    return cast(reduce_axes(partial, rows, Reducer::sum, {partial.size(1)}), dtype);
}

// Building blocks of the plain forms and the recordable rules.
Tensor row_mean(const Tensor& x) { return mean(x, {-1}, true); }

Tensor times_weight(const Tensor& g, const Tensor& weight) {
    return weight.defined() ? mul(g, weight) : g;
}

}  // namespace

// ---- layer_norm ---------------------------------------------------------------------------------

namespace {

struct LayerNormOp final : Op {
    LayerNormOp(const Tensor& x, const Tensor& weight, const Tensor& mean, const Tensor& rstd,
                double e)
        : Op("layer_norm", {x, weight, mean, rstd}), eps(e) {}
    std::string attributes() const override { return fmt::format("eps={}", eps); }
    double flops() const override { return 8.0 * static_cast<double>(numel(outputs()[0].shape)); }
    bool is_cheap() const override { return true; }
    Tensors forward(const Tensors& x) const override { return {layer_norm(x[0], x[1], x[2], eps)}; }
    Tensors backward(const Tensors& grads) override {
        return is_recording() ? recordable(grads[0]) : fused(grads[0]);
    }
    Tensors fused(const Tensor& grad) const;
    Tensors recordable(const Tensor& grad) const;
    double eps;
};

Tensors LayerNormOp::fused(const Tensor& grad) const {
    const Tensor x = dense(saved(0));
    const Tensor g = dense(grad);
    const Tensor weight = or_ones(saved(1), x);
    const Rows rows = rows_of(x);
    Tensor dx(x.shape(), x.dtype());
    Tensor dweight = partial_sums(rows, weight.dtype());
    Tensor dbias = partial_sums(rows, weight.dtype());
    for_rows(
        "layer_norm", x.dtype(), rows, [](const auto& k) { return k.norm.layer_backward; },
        written(dx), per_chunk(dweight), per_chunk(dbias), read(g), read(x), shared(weight),
        per_row(saved(2)), per_row(saved(3)));
    return {dx, needs(1) ? sum_chunks(dweight, x.dtype()) : Tensor(),
            needs(2) ? sum_chunks(dbias, x.dtype()) : Tensor()};
}

Tensors LayerNormOp::recordable(const Tensor& g) const {
    const Tensor& x = saved(0);
    const Tensor deviation = sub(x, row_mean(x));
    const Tensor scale = rsqrt(add(row_mean(square(deviation)), eps));
    const Tensor u = mul(deviation, scale);
    const Tensor h = times_weight(g, saved(1));
    const Tensor along = mul(u, row_mean(mul(h, u)));
    const Tensor dx = mul(scale, sub(sub(h, row_mean(h)), along));
    const Shape columns{x.shape().back()};
    return {dx, needs(1) ? sum_to(mul(g, u), columns) : Tensor(),
            needs(2) ? sum_to(g, columns) : Tensor()};
}

}  // namespace

Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps) {
    check_norm("layer_norm", x, eps);
    check_affine("layer_norm", "weight", x, weight);
    check_affine("layer_norm", "bias", x, bias);
    if (!fusion_enabled()) {
        const Tensor deviation = sub(x, row_mean(x));
        const Tensor u = mul(deviation, rsqrt(add(row_mean(square(deviation)), eps)));
        const Tensor y = times_weight(u, weight);
        return bias.defined() ? add(y, bias) : y;
    }
    const Tensor from = dense(x);
    const Tensor scale = or_ones(weight, x);
    const Tensor shift = bias.defined() ? dense(cast(bias, scale.dtype()))
                                        : zeros({x.shape().back()}, scale.dtype());
    const Rows rows = rows_of(from);
    Tensor y(x.shape(), x.dtype());
    Tensor mean({rows.count}, scale.dtype());
    Tensor rstd({rows.count}, scale.dtype());
    for_rows(
        "layer_norm", x.dtype(), rows, [](const auto& k) { return k.norm.layer; }, written(y),
        per_row(mean), per_row(rstd), read(from), shared(scale), shared(shift), number(eps));
    return record<LayerNormOp>({x, weight, bias}, y, x, weight, mean, rstd, eps);
}

// ---- rms_norm -----------------------------------------------------------------------------------

namespace {

struct RmsNormOp final : Op {
    RmsNormOp(const Tensor& x, const Tensor& weight, const Tensor& rstd, double e)
        : Op("rms_norm", {x, weight, rstd}), eps(e) {}
    std::string attributes() const override { return fmt::format("eps={}", eps); }
    double flops() const override { return 5.0 * static_cast<double>(numel(outputs()[0].shape)); }
    bool is_cheap() const override { return true; }
    Tensors forward(const Tensors& x) const override { return {rms_norm(x[0], x[1], eps)}; }
    Tensors backward(const Tensors& grads) override {
        return is_recording() ? recordable(grads[0]) : fused(grads[0]);
    }
    Tensors fused(const Tensor& grad) const;
    Tensors recordable(const Tensor& grad) const;
    double eps;
};

Tensors RmsNormOp::fused(const Tensor& grad) const {
    const Tensor x = dense(saved(0));
    const Tensor g = dense(grad);
    const Tensor weight = or_ones(saved(1), x);
    const Rows rows = rows_of(x);
    Tensor dx(x.shape(), x.dtype());
    Tensor dweight = partial_sums(rows, weight.dtype());
    for_rows(
        "rms_norm", x.dtype(), rows, [](const auto& k) { return k.norm.rms_backward; }, written(dx),
        per_chunk(dweight), read(g), read(x), shared(weight), per_row(saved(2)));
    return {dx, needs(1) ? sum_chunks(dweight, x.dtype()) : Tensor()};
}

Tensors RmsNormOp::recordable(const Tensor& g) const {
    const Tensor& x = saved(0);
    const Tensor scale = rsqrt(add(row_mean(square(x)), eps));
    const Tensor u = mul(x, scale);
    const Tensor h = times_weight(g, saved(1));
    const Tensor dx = mul(scale, sub(h, mul(u, row_mean(mul(h, u)))));
    return {dx, needs(1) ? sum_to(mul(g, u), {x.shape().back()}) : Tensor()};
}

}  // namespace

Tensor rms_norm(const Tensor& x, const Tensor& weight, double eps) {
    check_norm("rms_norm", x, eps);
    check_affine("rms_norm", "weight", x, weight);
    if (!fusion_enabled()) {
        return times_weight(mul(x, rsqrt(add(row_mean(square(x)), eps))), weight);
    }
    const Tensor from = dense(x);
    const Tensor scale = or_ones(weight, x);
    const Rows rows = rows_of(from);
    Tensor y(x.shape(), x.dtype());
    Tensor rstd({rows.count}, scale.dtype());
    for_rows(
        "rms_norm", x.dtype(), rows, [](const auto& k) { return k.norm.rms; }, written(y),
        per_row(rstd), read(from), shared(scale), number(eps));
    return record<RmsNormOp>({x, weight}, y, x, weight, rstd, eps);
}

}  // namespace tapestry
