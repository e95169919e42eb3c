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
#include <tapestry/ops/kernels/table.h>
#include <tapestry/ops/reduce_axes.h>
#include <tapestry/ops/reduction.h>
#include <tapestry/ops/staging.h>

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

struct NormRows {
    explicit NormRows(const Tensor& x)
        : n(x.shape().back()), rows(n == 0 ? 0 : x.numel() / n), chunk(rows_per_chunk(rows, n)) {}
    std::int64_t n;
    std::int64_t rows;
    std::int64_t chunk;
    std::int64_t chunks() const { return (rows + chunk - 1) / chunk; }
};

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
    const NormRows e(x);
    Tensor dx(x.shape(), x.dtype());
    Tensor dweight({e.chunks(), e.n}, weight.dtype());
    Tensor dbias({e.chunks(), e.n}, weight.dtype());
    visit_stored("layer_norm", x.dtype(), [&](auto zero) {
        using T = decltype(zero);
        using C = Compute<T>;
        const auto kernel = kernels::table<C>().norm.layer_backward;
        T* const to_x = dx.mutable_data<T>();
        C* const to_weight = dweight.mutable_data<C>();
        C* const to_bias = dbias.mutable_data<C>();
        const T* const from_g = g.data<T>();
        const T* const from_x = x.data<T>();
        const C* const mean = saved(2).data<C>();
        const C* const rstd = saved(3).data<C>();
        parallel_for(e.rows, e.chunk, [&](std::int64_t begin, std::int64_t end) {
            const std::int64_t at = begin * e.n, count = (end - begin) * e.n;
            const std::int64_t part = begin / e.chunk * e.n;
            const Widened<T> rows_g(from_g + at, count), rows_x(from_x + at, count);
            const Narrowed<T> rows_dx(to_x + at, count);
            kernel(rows_dx.data(), to_weight + part, to_bias + part, rows_g.data(), rows_x.data(),
                   weight.data<C>(), mean + begin, rstd + begin, end - begin, e.n);
        });
    });
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
    const NormRows e(from);
    Tensor y(x.shape(), x.dtype());
    Tensor mean({e.rows}, scale.dtype());
    Tensor rstd({e.rows}, scale.dtype());
    visit_stored("layer_norm", x.dtype(), [&](auto zero) {
        using T = decltype(zero);
        using C = Compute<T>;
        const auto kernel = kernels::table<C>().norm.layer;
        const T* const source = from.data<T>();
        T* const target = y.mutable_data<T>();
        C* const means = mean.mutable_data<C>();
        C* const rstds = rstd.mutable_data<C>();
        parallel_for(e.rows, e.chunk, [&](std::int64_t begin, std::int64_t end) {
            const std::int64_t at = begin * e.n, count = (end - begin) * e.n;
            const Widened<T> rows_x(source + at, count);
            const Narrowed<T> rows_y(target + at, count);
            kernel(rows_y.data(), means + begin, rstds + begin, rows_x.data(), scale.data<C>(),
                   shift.data<C>(), static_cast<C>(eps), end - begin, e.n);
        });
    });
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
    const NormRows e(x);
    Tensor dx(x.shape(), x.dtype());
    Tensor dweight({e.chunks(), e.n}, weight.dtype());
    visit_stored("rms_norm", x.dtype(), [&](auto zero) {
        using T = decltype(zero);
        using C = Compute<T>;
        const auto kernel = kernels::table<C>().norm.rms_backward;
        T* const to_x = dx.mutable_data<T>();
        C* const to_weight = dweight.mutable_data<C>();
        const T* const from_g = g.data<T>();
        const T* const from_x = x.data<T>();
        const C* const rstd = saved(2).data<C>();
        parallel_for(e.rows, e.chunk, [&](std::int64_t begin, std::int64_t end) {
            const std::int64_t at = begin * e.n, count = (end - begin) * e.n;
            const Widened<T> rows_g(from_g + at, count), rows_x(from_x + at, count);
            const Narrowed<T> rows_dx(to_x + at, count);
            kernel(rows_dx.data(), to_weight + begin / e.chunk * e.n, rows_g.data(), rows_x.data(),
                   weight.data<C>(), rstd + begin, end - begin, e.n);
        });
    });
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
    const NormRows e(from);
    Tensor y(x.shape(), x.dtype());
    Tensor rstd({e.rows}, scale.dtype());
    visit_stored("rms_norm", x.dtype(), [&](auto zero) {
        using T = decltype(zero);
        using C = Compute<T>;
        const auto kernel = kernels::table<C>().norm.rms;
        const T* const source = from.data<T>();
        T* const target = y.mutable_data<T>();
        C* const rstds = rstd.mutable_data<C>();
        parallel_for(e.rows, e.chunk, [&](std::int64_t begin, std::int64_t end) {
            const std::int64_t at = begin * e.n, count = (end - begin) * e.n;
            const Widened<T> rows_x(source + at, count);
            const Narrowed<T> rows_y(target + at, count);
            kernel(rows_y.data(), rstds + begin, rows_x.data(), scale.data<C>(),
                   static_cast<C>(eps), end - begin, e.n);
        });
    });
    return record<RmsNormOp>({x, weight}, y, x, weight, rstd, eps);
}

}  // namespace tapestry
