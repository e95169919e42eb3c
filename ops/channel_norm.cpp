// Both norms view x as [N, G, S, P]: G groups of S channels with P pixels each. Batch norm has
// groups of one channel and takes means over N and P, group norm over S and P; nothing else
// differs.
#include <tapestry/ops/norm.h>

#include <tapestry/autograd/tape.h>
#include <tapestry/core/copy.h>
#include <tapestry/core/create.h>
#include <tapestry/core/loop.h>
#include <tapestry/core/views.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/check.h>
#include <tapestry/ops/elementwise.h>
#include <tapestry/ops/fusion.h>
#include <tapestry/ops/kernels/table.h>
#include <tapestry/ops/reduce_axes.h>
#include <tapestry/ops/reduction.h>
#include <tapestry/ops/staging.h>
#include <tapestry/ops/view.h>

#include <algorithm>

namespace tapestry {
namespace {

// With fewer pixels than this, batch norm first gathers each channel's pixels: processing segments
// of a number or two would take longer than the copy.
constexpr std::int64_t kShortSegment = 16;

struct Form {
    bool batch = true;
    Shape view;  // [N, G, S, P]
    double eps = 1e-5;

    std::int64_t channels() const { return view[1] * view[2]; }
    // The axes of a mean.
    std::vector<int> axes() const { return batch ? std::vector{0, 3} : std::vector{2, 3}; }
    std::int64_t rows() const { return batch ? view[1] : view[0] * view[1]; }
    bool together() const { return batch && view[3] < kShortSegment; }
    // The segments of a row; see kernels/norm.h.
    kernels::Segments segments() const {
        if (together()) return {1, 0, row_stride(), 0};
        if (batch) return {view[0], view[1] * view[3], view[3], 0};
        return {view[2], view[3], view[3], 1};
    }
    std::int64_t row_stride() const { return (together() ? view[0] : view[2]) * view[3]; }
    // Index of row r's first channel in weight [C].
    std::int64_t weight_at(std::int64_t r) const { return r % view[1] * view[2]; }
};

Tensor weights(const Tensor& weight, double otherwise, const Form& form, DType dtype) {
    return weight.defined() ? dense(weight) : full({form.channels()}, otherwise, dtype);
}

// x as the kernel reads it: dense, and [C, N, P] if each channel's pixels are gathered.
Tensor laid_out(const Tensor& x, const Form& form) {
    if (!form.together()) return dense(x);
    return dense(
        views::transpose(views::reshape(x, {form.view[0], form.view[1], form.view[3]}), 0, 1));
}

// The inverse of laid_out().
Tensor as_before(const Tensor& y, const Shape& shape, const Form& form) {
    if (!form.together()) return y;
    const Tensor rows = views::reshape(y, {form.view[1], form.view[0], form.view[3]});
    return views::reshape(views::transpose(rows, 0, 1), shape);
}

Tensor row_means(const Tensor& x, const Form& form) { return mean(x, form.axes(), true); }

// [C] reshaped to broadcast against [N, G, S, P]
Tensor per_channel(const Tensor& p, const Form& form) {
    return reshape(p, {form.view[1], form.view[2], 1});
}

// Calls f(r) for every row, in parallel chunks sized by the row's length.
template <class F>
void for_each_row(const Form& form, const F& f) {
    const std::int64_t rows = std::max<std::int64_t>(1, form.rows());
    const std::int64_t length = std::max<std::int64_t>(1, numel(form.view) / rows);
    parallel_for(form.rows(), kGrain / 4 / length, [&f](std::int64_t begin, std::int64_t end) {
        for (std::int64_t r = begin; r < end; ++r) f(r);
    });
}

Tensor norm(const Tensor& x, const Tensor& weight, const Tensor& bias, const Form& form,
            ChannelStatistics* statistics);

struct ChannelNormOp final : Op {
    ChannelNormOp(const Tensor& x, const Tensor& weight, const Tensor& mean, const Tensor& rstd,
                  const Form& f)
        : Op(f.batch ? "batch_norm" : "group_norm", {x, weight, mean, rstd}), form(f) {}
    std::string attributes() const override {
        return form.batch ? fmt::format("eps={}", form.eps)
                          : fmt::format("groups={}, eps={}", form.view[1], form.eps);
    }
    double flops() const override { return 8.0 * static_cast<double>(numel(outputs()[0].shape)); }
    Tensors forward(const Tensors& x) const override {
        return {norm(x[0], x[1], x[2], form, nullptr)};
    }
    Tensors backward(const Tensors& grads) override {
        return is_recording() ? recordable(grads[0]) : fused(grads[0]);
    }
    Tensors fused(const Tensor& grad) const;
    Tensors recordable(const Tensor& grad) const;
    Form form;
};

Tensors ChannelNormOp::fused(const Tensor& grad) const {
    const Tensor x = laid_out(saved(0), form), g = laid_out(grad, form);
    const Tensor weight = weights(saved(1), 1, form, x.dtype());
    const std::int64_t per_row = form.batch ? 1 : form.view[2];
    Tensor dx(x.shape(), x.dtype());
    Tensor dweight({form.batch ? 1 : form.view[0], form.channels()}, x.dtype());
    Tensor dbias(dweight.shape(), x.dtype());
    visit_floating("channel_norm", x.dtype(), [&](auto zero) {
        using T = decltype(zero);
        const auto kernel = kernels::table<T>().channel_norm.backward;
        T* const to_x = dx.mutable_data<T>();
        T* const to_weight = dweight.mutable_data<T>();
        T* const to_bias = dbias.mutable_data<T>();
        for_each_row(form, [&](std::int64_t r) {
            const std::int64_t at = r * form.row_stride();
            kernel(to_x + at, to_weight + r * per_row, to_bias + r * per_row, g.data<T>() + at,
                   x.data<T>() + at, weight.data<T>() + form.weight_at(r), saved(2).data<T>()[r],
                   saved(3).data<T>()[r], form.segments());
        });
    });
    const auto over_images = [&](const Tensor& partial) {
        return reduce_axes(partial, axis_mask("norm", {0}, 2), Reducer::sum, {form.channels()});
    };
    return {as_before(dx, grad.shape(), form), needs(1) ? over_images(dweight) : Tensor(),
            needs(2) ? over_images(dbias) : Tensor()};
}

Tensors ChannelNormOp::recordable(const Tensor& grad) const {
    const Tensor x = reshape(saved(0), form.view), g = reshape(grad, form.view);
    const Tensor deviation = sub(x, row_means(x, form));
    const Tensor scale = rsqrt(add(row_means(square(deviation), form), form.eps));
    const Tensor u = mul(deviation, scale);
    const Tensor h = saved(1).defined() ? mul(g, per_channel(saved(1), form)) : g;
    const Tensor along = mul(u, row_means(mul(h, u), form));
    const Tensor dx = mul(scale, sub(sub(h, row_means(h, form)), along));
    const Shape channels{form.channels()};
    return {reshape(dx, saved(0).shape()),
            needs(1) ? reshape(sum(mul(g, u), {0, 3}), channels) : Tensor(),
            needs(2) ? reshape(sum(g, {0, 3}), channels) : Tensor()};
}

Tensor plain_norm(const Tensor& from, const Tensor& weight, const Tensor& bias, const Form& form) {
    const Tensor x = reshape(from, form.view);
    const Tensor deviation = sub(x, row_means(x, form));
    Tensor y = mul(deviation, rsqrt(add(row_means(square(deviation), form), form.eps)));
    if (weight.defined()) y = mul(y, per_channel(weight, form));
    if (bias.defined()) y = add(y, per_channel(bias, form));
    return reshape(y, from.shape());
}

Tensor norm(const Tensor& x, const Tensor& weight, const Tensor& bias, const Form& form,
            ChannelStatistics* statistics) {
    const Tensor from = laid_out(x, form);
    const Tensor scale = weights(weight, 1, form, x.dtype());
    const Tensor shift = weights(bias, 0, form, x.dtype());
    Tensor rows(from.shape(), x.dtype());
    Tensor mean({form.rows()}, x.dtype());
    Tensor var({form.rows()}, x.dtype());
    Tensor rstd({form.rows()}, x.dtype());
    visit_floating("channel_norm", x.dtype(), [&](auto zero) {
        using T = decltype(zero);
        const auto kernel = kernels::table<T>().channel_norm.forward;
        T* const to = rows.mutable_data<T>();
        T* const means = mean.mutable_data<T>();
        T* const vars = var.mutable_data<T>();
        T* const rstds = rstd.mutable_data<T>();
        for_each_row(form, [&](std::int64_t r) {
            const std::int64_t at = r * form.row_stride(), channel = form.weight_at(r);
            kernel(to + at, means + r, vars + r, rstds + r, from.data<T>() + at,
                   scale.data<T>() + channel, shift.data<T>() + channel, static_cast<T>(form.eps),
                   form.segments());
        });
    });
    if (statistics != nullptr) *statistics = {mean, var};
    Tensor y = as_before(rows, x.shape(), form);
    return record<ChannelNormOp>({x, weight, bias}, y, x, weight, mean, rstd, form);
}

// ---- checks and public functions ----------------------------------------------------------------

void check_norm(std::string_view op, const Tensor& x, const Tensor& weight, const Tensor& bias,
                double eps) {
    check_floating(op, x);
    require<ShapeError>(x.rank() >= 2, "{}: needs an input [N, C, ...], got {}", op, x.shape());
    require<ValueError>(eps >= 0, "{}: eps must be >= 0, got {}", op, eps);
    const auto fits = [&](std::string_view name, const Tensor& p) {
        if (!p.defined()) return;
        check_same_dtype(op, x, p);
        require<ShapeError>(p.shape() == Shape{x.size(1)},
                            "{}: {} is {}, but the {} channels of {} need [{}]", op, name,
                            p.shape(), x.size(1), x.shape(), x.size(1));
    };
    fits("weight", weight);
    fits("bias", bias);
}

std::int64_t pixels(const Tensor& x) { return numel(x.shape().sub(2, x.rank())); }

}  // namespace

Tensor batch_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps,
                  ChannelStatistics* batch) {
    check_norm("batch_norm", x, weight, bias, eps);
    if (is_narrow(x.dtype())) {
        return in_f32([&](const Tensor& wide, const Tensor& w,
                          const Tensor& b) { return batch_norm(wide, w, b, eps, batch); },
                      x, weight, bias);
    }
    const Form form{true, {x.size(0), x.size(1), 1, pixels(x)}, eps};
    const std::int64_t count = form.view[0] * form.view[3];
    require<ShapeError>(count > 1,
                        "batch_norm: each channel of {} has {} of the 2 numbers that a variance "
                        "needs; for evaluation give it running statistics",
                        x.shape(), count);
    if (!fusion_enabled()) {
        if (batch != nullptr) {
            const NoGradGuard constants;
            const Tensor all = reshape(x, form.view);
            *batch = {reshape(mean(all, form.axes()), {x.size(1)}),
                      reshape(var(all, form.axes(), 0), {x.size(1)})};
        }
        return plain_norm(x, weight, bias, form);
    }
    return norm(x, weight, bias, form, batch);
}

Tensor batch_norm(const Tensor& x, const ChannelStatistics& given, const Tensor& weight,
                  const Tensor& bias, double eps) {
    check_norm("batch_norm", x, weight, bias, eps);
    if (is_narrow(x.dtype())) {
        return in_f32(
            [&](const Tensor& wide, const Tensor& mean, const Tensor& var, const Tensor& w,
                const Tensor& b) {
                return batch_norm(wide, ChannelStatistics{mean, var}, w, b, eps);
            },
            x, given.mean, given.var, weight, bias);
    }
    for (const auto& [name, p] : {std::pair{"mean", given.mean}, std::pair{"var", given.var}}) {
        check_defined("batch_norm", p);
        check_same_dtype("batch_norm", x, p);
        require<ShapeError>(p.shape() == Shape{x.size(1)},
                            "batch_norm: the {} is {}, but the {} channels of {} need [{}]", name,
                            p.shape(), x.size(1), x.shape(), x.size(1));
    }
    Shape channels = Shape::filled(x.rank() - 1, 1);
    channels[0] = x.size(1);
    Tensor scale = rsqrt(add(given.var, eps));
    if (weight.defined()) scale = mul(scale, weight);
    const Tensor y = mul(sub(x, reshape(given.mean, channels)), reshape(scale, channels));
    return bias.defined() ? add(y, reshape(bias, channels)) : y;
}

Tensor instance_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps) {
    check_norm("instance_norm", x, weight, bias, eps);
    return group_norm(x, x.size(1), weight, bias, eps);
}

Tensor group_norm(const Tensor& x, std::int64_t groups, const Tensor& weight, const Tensor& bias,
                  double eps) {
    check_norm("group_norm", x, weight, bias, eps);
    if (is_narrow(x.dtype())) {
        return in_f32([&](const Tensor& wide, const Tensor& w,
                          const Tensor& b) { return group_norm(wide, groups, w, b, eps); },
                      x, weight, bias);
    }
    require(groups >= 1 && x.size(1) % groups == 0,
            "group_norm: {} groups do not divide the {} channels of {}", groups, x.size(1),
            x.shape());
    const Form form{false, {x.size(0), groups, x.size(1) / groups, pixels(x)}, eps};
    if (!fusion_enabled()) return plain_norm(x, weight, bias, form);
    return norm(x, weight, bias, form, nullptr);
}

}  // namespace tapestry
