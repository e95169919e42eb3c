// Each reduction in the order check, forward, rule. All gradients come down to one step: put the
// reduced axes back with size 1 and repeat along them.
#include <tapestry/ops/reduction.h>

#include <tapestry/autograd/tape.h>
#include <tapestry/core/copy.h>
#include <tapestry/core/create.h>
#include <tapestry/core/loop.h>
#include <tapestry/core/views.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/cast.h>
#include <tapestry/ops/check.h>
#include <tapestry/ops/comparison.h>
#include <tapestry/ops/elementwise.h>
#include <tapestry/ops/kernels/table.h>
#include <tapestry/ops/reduce_axes.h>
#include <tapestry/ops/view.h>

#include <algorithm>
#include <limits>

namespace tapestry {
namespace {

struct ReductionOp : Op {
    ReductionOp(std::string name, const AxisMask& axes, const Tensors& saved = {})
        : Op(std::move(name), saved), mask(axes) {}

    /// A tensor of the output's shape as [.., 1, ..], so that it broadcasts against the input.
    Tensor kept(const Tensor& t) const {
        return reshape(t, reduced_shape(inputs()[0].shape, mask, true));
    }

    Tensor repeated(const Tensor& t) const { return expand(kept(t), inputs()[0].shape); }

    std::string attributes() const override {
        std::string text = "axes=[";
        for (int axis = 0; axis < inputs()[0].shape.rank(); ++axis) {
            if (!mask[static_cast<std::size_t>(axis)]) continue;
            text += fmt::format("{}{}", text.back() == '[' ? "" : ", ", axis);
        }
        return text + "]";
    }

    double flops() const override { return static_cast<double>(numel(inputs()[0].shape)); }

    AxisMask mask;
};

// Integers and masks: exact, so that nothing but the order of axes matters.
Tensor sum_integers(const Tensor& x, const AxisMask& mask, const Shape& result) {
    const Tensor rows = reduced_axes_last(cast(x, DType::i64), mask);
    const std::int64_t n = reduced_count(x.shape(), mask);
    Tensor y(result, DType::i64);
    const std::int64_t* from = rows.data<std::int64_t>();
    std::int64_t* to = y.mutable_data<std::int64_t>();
    parallel_for(y.numel(), kGrain / std::max<std::int64_t>(n, 1), [&](auto begin, auto end) {
        for (std::int64_t r = begin; r < end; ++r) {
            std::uint64_t total = 0;  // wraps round where a signed sum would be undefined
            for (std::int64_t i = 0; i < n; ++i) {
                total += static_cast<std::uint64_t>(from[r * n + i]);
            }
            to[r] = static_cast<std::int64_t>(total);
        }
    });
    return y;
}

}  // namespace

// ---- sum, sum_to --------------------------------------------------------------------------------

namespace {
Tensor sum_over(const std::string& op, const Tensor& x, const AxisMask& mask, const Shape& result);

struct SumOp final : ReductionOp {
    SumOp(std::string name, const AxisMask& axes) : ReductionOp(std::move(name), axes) {}
    Tensors forward(const Tensors& x) const override {
        return {sum_over(name(), x[0], mask, outputs()[0].shape)};
    }
    Tensors backward(const Tensors& grads) override { return {repeated(grads[0])}; }
};

// `result` has the reduced axes with size 1, or not at all.
Tensor sum_over(const std::string& op, const Tensor& x, const AxisMask& mask, const Shape& result) {
    Tensor y = reduce_axes(x, mask, Reducer::sum, result);
    return record<SumOp>({x}, y, op, mask);
}
}  // namespace

Tensor sum(const Tensor& x, const std::vector<int>& axes, bool keepdim) {
    check_defined("sum", x);
    const AxisMask mask = axis_mask("sum", axes, x.rank());
    const Shape shape = reduced_shape(x.shape(), mask, keepdim);
    if (!is_floating(x.dtype())) return sum_integers(x, mask, shape);
    return sum_over("sum", x, mask, shape);
}

Tensor sum_to(const Tensor& x, const Shape& shape) {
    check_floating("sum_to", x);
    if (x.shape() == shape) return x;
    const int shift = x.rank() - shape.rank();
    AxisMask mask{};
    bool fits = shift >= 0;
    for (int axis = 0; fits && axis < x.rank(); ++axis) {
        const std::int64_t size = axis < shift ? 1 : shape[axis - shift];
        mask[static_cast<std::size_t>(axis)] = axis < shift || size != x.size(axis);
        fits = size == x.size(axis) || size == 1;
    }
    require<ShapeError>(fits, "sum_to: {} does not broadcast to {}", shape, x.shape());
    return sum_over("sum_to", x, mask, shape);
}

// ---- mean ---------------------------------------------------------------------------------------

namespace {
Tensor mean_over(const Tensor& x, const AxisMask& mask, const Shape& result);

struct MeanOp final : ReductionOp {
    explicit MeanOp(const AxisMask& axes) : ReductionOp("mean", axes) {}
    Tensors forward(const Tensors& x) const override {
        return {mean_over(x[0], mask, outputs()[0].shape)};
    }
    Tensors backward(const Tensors& grads) override {
        const auto n = static_cast<double>(reduced_count(inputs()[0].shape, mask));
        return {repeated(div(grads[0], n))};
    }
};

Tensor mean_over(const Tensor& x, const AxisMask& mask, const Shape& result) {
    const auto n = static_cast<double>(reduced_count(x.shape(), mask));
    Tensor y = div(reduce_axes(x, mask, Reducer::sum, result), n);
    return record<MeanOp>({x}, y, mask);
}
}  // namespace

Tensor mean(const Tensor& x, const std::vector<int>& axes, bool keepdim) {
    check_floating("mean", x);
    const AxisMask mask = axis_mask("mean", axes, x.rank());
    return mean_over(x, mask, reduced_shape(x.shape(), mask, keepdim));
}

// ---- max, min -----------------------------------------------------------------------------------

namespace {
Tensor extreme_over(Reducer reducer, const Tensor& x, const AxisMask& mask, const Shape& result);

struct ExtremeOp final : ReductionOp {
    ExtremeOp(Reducer reducer, const AxisMask& axes, const Tensor& x, const Tensor& y)
        : ReductionOp(reducer == Reducer::max ? "max" : "min", axes, {x, y}), reducer_(reducer) {}
    Tensors forward(const Tensors& x) const override {
        return {extreme_over(reducer_, x[0], mask, outputs()[0].shape)};
    }
    Tensor decisions(const Tensors& x) const override {  // who attains the extreme
        const Shape kept_shape = reduced_shape(x[0].shape(), mask, true);
        return eq(x[0], reduce_axes(x[0], mask, reducer_, kept_shape));
    }
    Tensors backward(const Tensors& grads) override {
        const Tensor& x = saved(0);
        const Tensor chosen = to(eq(x, kept(saved(1))), x.dtype());  // 1 where x is the extreme
        std::vector<int> axes;
        for (int axis = 0; axis < x.rank(); ++axis) {
            if (mask[static_cast<std::size_t>(axis)]) axes.push_back(axis);
        }
        const Tensor ties = axes.empty() ? chosen : sum(chosen, axes, true);
        return {mul(div(kept(grads[0]), ties), chosen)};
    }

private:
    Reducer reducer_;
};

Tensor extreme_over(Reducer reducer, const Tensor& x, const AxisMask& mask, const Shape& result) {
    Tensor y = reduce_axes(x, mask, reducer, result);
    return record<ExtremeOp>({x}, y, reducer, mask, x, y);
}

Tensor extreme(std::string_view op, Reducer reducer, const Tensor& x, const std::vector<int>& axes,
               bool keepdim) {
    check_floating(op, x);
    const AxisMask mask = axis_mask(op, axes, x.rank());
    require<ShapeError>(reduced_count(x.shape(), mask) > 0,
                        "{}: nothing to choose from: a reduced axis of {} is empty", op, x.shape());
    return extreme_over(reducer, x, mask, reduced_shape(x.shape(), mask, keepdim));
}
}  // namespace

Tensor max(const Tensor& x, const std::vector<int>& axes, bool keepdim) {
    return extreme("max", Reducer::max, x, axes, keepdim);
}

Tensor min(const Tensor& x, const std::vector<int>& axes, bool keepdim) {
    return extreme("min", Reducer::min, x, axes, keepdim);
}

// ---- var ----------------------------------------------------------------------------------------

// Composed: two passes, the mean first, so that nothing cancels.
Tensor var(const Tensor& x, const std::vector<int>& axes, int correction, bool keepdim) {
    check_floating("var", x);
    const AxisMask mask = axis_mask("var", axes, x.rank());
    const auto n = static_cast<double>(reduced_count(x.shape(), mask));
    const Tensor deviation = sub(x, mean(x, axes, true));
    return div(sum(square(deviation), axes, keepdim), std::max(0.0, n - correction));
}

// ---- logsumexp ----------------------------------------------------------------------------------

namespace {
Tensor logsumexp_over(const Tensor& x, const AxisMask& mask, const Shape& result);

struct LogSumExpOp final : ReductionOp {
    LogSumExpOp(const AxisMask& axes, const Tensor& x, const Tensor& y)
        : ReductionOp("logsumexp", axes, {x, y}) {}
    Tensors forward(const Tensors& x) const override {
        return {logsumexp_over(x[0], mask, outputs()[0].shape)};
    }
    Tensors backward(const Tensors& grads) override {
        // g exp(x - y). Where y is -inf, x - y would be NaN; exp(x - 0) = 0 is what is meant.
        const Tensor& y = saved(1);
        const Tensor finite =
            where(eq(y, -std::numeric_limits<double>::infinity()), zeros_like(y), y);
        return {mul(kept(grads[0]), exp(sub(saved(0), kept(finite))))};
    }
};

Tensor logsumexp_over(const Tensor& x, const AxisMask& mask, const Shape& result) {
    const Tensor rows = reduced_axes_last(x, mask);
    const std::int64_t n = reduced_count(x.shape(), mask);
    Tensor y(result, x.dtype());
    visit_floating("logsumexp", x.dtype(), [&](auto zero) {
        using T = decltype(zero);
        const auto kernel = kernels::table<T>().reduce.logsumexp;
        const T* from = rows.data<T>();
        T* to = y.mutable_data<T>();
        const std::int64_t grain = kGrain / 8 / std::max<std::int64_t>(n, 1);
        parallel_for(y.numel(), grain, [&](std::int64_t begin, std::int64_t end) {
            kernel(to + begin, from + begin * n, end - begin, n);
        });
    });
    return record<LogSumExpOp>({x}, y, mask, x, y);
}
}  // namespace

Tensor logsumexp(const Tensor& x, const std::vector<int>& axes, bool keepdim) {
    check_floating("logsumexp", x);
    const AxisMask mask = axis_mask("logsumexp", axes, x.rank());
    return logsumexp_over(x, mask, reduced_shape(x.shape(), mask, keepdim));
}

// ---- argmax -------------------------------------------------------------------------------------

namespace {
// Of x[0], x[step], ...: the first of the largest; NaN counts as larger than anything.
template <class T>
std::int64_t index_of_largest(const T* x, std::int64_t n, std::int64_t step) {
    std::int64_t best = 0;
    for (std::int64_t i = 0; i < n; ++i) {
        const T value = x[i * step];
        if (value != value) return i;
        if (x[best * step] < value) best = i;
    }
    return best;
}
}  // namespace

Tensor argmax(const Tensor& x, int axis, bool keepdim) {
    check_defined("argmax", x);
    if (x.rank() == 0) {
        require<ShapeError>(axis == 0 || axis == -1,
                            "argmax: axis {} is outside a tensor of rank 0", axis);
        return zeros({}, DType::i64);
    }
    const int a = normalize_axis("argmax", axis, x.rank());
    const std::int64_t n = x.size(a);
    require<ShapeError>(n > 0, "argmax: axis {} of {} is empty", axis, x.shape());
    const std::int64_t inner = numel(x.shape().sub(a + 1, x.rank()));
    Shape shape = x.shape();
    shape[a] = 1;
    if (!keepdim) shape.erase(a);
    Tensor y(shape, DType::i64);
    const Tensor values = dense(x);
    visit_dtype(x.dtype(), [&](auto zero) {
        const auto* from = values.data<decltype(zero)>();
        std::int64_t* to = y.mutable_data<std::int64_t>();
        parallel_for(y.numel(), kGrain / n, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin; i < end; ++i) {
                to[i] = index_of_largest(from + i / inner * n * inner + i % inner, n, inner);
            }
        });
    });
    return y;
}

}  // namespace tapestry
