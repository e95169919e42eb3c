// Each reduction in the order check, forward, rule. All gradients reduce to one step: restore the
// reduced axes with size 1 and broadcast along them.
#include <tapestry/ops/reduction.h>

#include <tapestry/autograd/tape.h>
#include <tapestry/core/copy.h>
#include <tapestry/core/create.h>
#include <tapestry/core/floating_point.h>
#include <tapestry/core/loop.h>
#include <tapestry/core/views.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/cast.h>
#include <tapestry/ops/check.h>
#include <tapestry/ops/comparison.h>
#include <tapestry/ops/elementwise.h>
#include <tapestry/ops/kernels/table.h>
#include <tapestry/ops/reduce_axes.h>
#include <tapestry/ops/rows.h>
#include <tapestry/ops/view.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

namespace tapestry {
namespace {

// Integers and masks as i64: exact, so the order of summation does not matter. `piece` and `join`
// are those of reduce_rows().
template <class T, class Piece, class Join>
Tensor reduce_exactly(const Tensor& x, const AxisMask& mask, const Shape& result, DType dtype,
                      Piece piece, Join join) {
    const Tensor rows = reduced_axes_last(x, mask);
    Tensor y(result, dtype);
    const auto whole =
        reduce_rows(rows.data<T>(), y.numel(), reduced_count(x.shape(), mask), piece, join);
    visit_dtype(dtype, [&](auto zero) {
        using To = decltype(zero);
        std::transform(whole.begin(), whole.end(), y.mutable_data<To>(),
                       [](auto value) { return static_cast<To>(value); });
    });
    return y;
}

Tensor sum_integers(const Tensor& x, const AxisMask& mask, const Shape& result) {
    const auto wrapping = [](const std::int64_t* from, std::int64_t n) {
        std::uint64_t total = 0;  // wraps around; signed overflow would be undefined
        for (std::int64_t i = 0; i < n; ++i) total += static_cast<std::uint64_t>(from[i]);
        return total;
    };
    return reduce_exactly<std::int64_t>(cast(x, DType::i64), mask, result, DType::i64, wrapping,
                                        std::plus<>());
}

}  // namespace

// ---- sum, sum_to --------------------------------------------------------------------------------

namespace {
Tensor sum_over(std::string_view op, const Tensor& x, const AxisMask& mask, const Shape& result);

struct SumOp final : ReductionOp {
    using ReductionOp::ReductionOp;
    Tensors forward(const Tensors& x) const override {
        return {sum_over(name(), x[0], mask, outputs()[0].shape)};
    }
    Tensors backward(const Tensors& grads) override { return {repeated(grads[0])}; }
};

// `result` has the reduced axes with size 1, or without them.
Tensor sum_over(std::string_view op, const Tensor& x, const AxisMask& mask, const Shape& result) {
    Tensor y = cast(reduce_axes(x, mask, Reducer::sum, result), x.dtype());
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

// Whether a sum over n elements, one of `sums`, overflowed, or had something in it that is not
// finite.
bool has_overflowed(const Tensor& sums, std::int64_t n) {
    bool finite = true;
    visit_floating("mean", sums.dtype(), [&](auto zero) {
        const auto* at = sums.data<decltype(zero)>();
        for (std::int64_t i = 0; i < sums.numel(); ++i) finite &= std::isfinite(at[i]);
    });
    return !finite && n > 1;
}

// A power of two by which n numbers are multiplied so that their sum stays in the range.
double downscale(std::int64_t n) { return std::ldexp(0.5, -std::ilogb(static_cast<double>(n))); }

Tensor mean_over(const Tensor& x, const AxisMask& mask, const Shape& result) {
    const std::int64_t count = reduced_count(x.shape(), mask);
    const auto n = static_cast<double>(count);
    const Tensor sums = reduce_axes(x, mask, Reducer::sum, result);
    Tensor means = div(sums, n);
    if (has_overflowed(sums, count)) {
        const NoGradGuard constants;
        const double by = downscale(count);
        const Tensor scaled = reduce_axes(mul(x, by), mask, Reducer::sum, result);
        means = where(isfinite(sums), means, div(scaled, n * by));
    }
    Tensor y = cast(means, x.dtype());
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
    Tensor decisions(const Tensors& x) const override {  // the elements that attain the extreme
        const Shape kept_shape = reduced_shape(x[0].shape(), mask, true);
        return eq(x[0], cast(reduce_axes(x[0], mask, reducer_, kept_shape), x[0].dtype()));
    }
    Tensors backward(const Tensors& grads) override {
        const Tensor& x = saved(0);
        const Tensor chosen = to(eq(x, kept(saved(1))), x.dtype());  // 1 where x is the extreme
        const Tensor ties = sum_over("sum", chosen, mask, reduced_shape(x.shape(), mask, true));
        return {mul(div(kept(grads[0]), ties), chosen)};
    }

private:
    Reducer reducer_;
};

Tensor extreme_over(Reducer reducer, const Tensor& x, const AxisMask& mask, const Shape& result) {
    Tensor y = cast(reduce_axes(x, mask, reducer, result), x.dtype());
    return record<ExtremeOp>({x}, y, reducer, mask, x, y);
}

template <class T>
Tensor extreme_integer(bool largest, const Tensor& x, const AxisMask& mask, const Shape& result) {
    const auto extreme_of = [largest](const T* from, std::int64_t n) {
        const T* at = largest ? std::max_element(from, from + n) : std::min_element(from, from + n);
        return static_cast<std::int64_t>(*at);
    };
    const auto join = [largest](std::int64_t a, std::int64_t b) {
        return largest ? std::max(a, b) : std::min(a, b);
    };
    return reduce_exactly<T>(x, mask, result, x.dtype(), extreme_of, join);
}

Tensor extreme(std::string_view op, Reducer reducer, const Tensor& x, const std::vector<int>& axes,
               bool keepdim) {
    check_defined(op, x);
    const AxisMask mask = axis_mask(op, axes, x.rank());
    require<ShapeError>(reduced_count(x.shape(), mask) > 0,
                        "{}: nothing to choose from: a reduced axis of {} is empty", op, x.shape());
    const Shape result = reduced_shape(x.shape(), mask, keepdim);
    if (is_floating(x.dtype())) return extreme_over(reducer, x, mask, result);
    const bool largest = reducer == Reducer::max;
    return x.dtype() == DType::i64 ? extreme_integer<std::int64_t>(largest, x, mask, result)
                                   : extreme_integer<bool>(largest, x, mask, result);
}
}  // namespace

Tensor max(const Tensor& x, const std::vector<int>& axes, bool keepdim) {
    return extreme("max", Reducer::max, x, axes, keepdim);
}

Tensor min(const Tensor& x, const std::vector<int>& axes, bool keepdim) {
    return extreme("min", Reducer::min, x, axes, keepdim);
}

// ---- any, all -----------------------------------------------------------------------------------

namespace {
// `decisive`, one of which is enough to decide, for groups that contain it; the other value for the
// rest. bool is a byte, 0 or 1, and memchr is vectorised.
Tensor decided(std::string_view op, const Tensor& x, const std::vector<int>& axes, bool keepdim,
               bool decisive) {
    check_defined(op, x);
    const AxisMask mask = axis_mask(op, axes, x.rank());
    const auto piece = [=](const bool* from, std::int64_t n) {
        const bool found =
            n > 0 && std::memchr(from, decisive ? 1 : 0, static_cast<std::size_t>(n)) != nullptr;
        return static_cast<int>(found == decisive);
    };
    const auto join = [=](int a, int b) { return decisive ? a | b : a & b; };
    return reduce_exactly<bool>(cast(x, DType::boolean), mask,
                                reduced_shape(x.shape(), mask, keepdim), DType::boolean, piece,
                                join);
}
}  // namespace

Tensor any(const Tensor& x, const std::vector<int>& axes, bool keepdim) {
    return decided("any", x, axes, keepdim, true);
}

Tensor all(const Tensor& x, const std::vector<int>& axes, bool keepdim) {
    return decided("all", x, axes, keepdim, false);
}

Tensor count_nonzero(const Tensor& x, const std::vector<int>& axes, bool keepdim) {
    check_defined("count_nonzero", x);
    axis_mask("count_nonzero", axes, x.rank());
    return sum(cast(x.detach(), DType::boolean), axes, keepdim);
}

// ---- var, stddev --------------------------------------------------------------------------------

// Composed in two passes, the mean first, which avoids cancellation.
Tensor var(const Tensor& x, const std::vector<int>& axes, int correction, bool keepdim) {
    check_floating("var", x);
    if (is_narrow(x.dtype())) {
        return in_f32([&](const Tensor& wide) { return var(wide, axes, correction, keepdim); }, x);
    }
    const FloatingPointGuard standard;
    const std::int64_t count = reduced_count(x.shape(), axis_mask("var", axes, x.rank()));
    const Tensor squares = square(sub(x, mean(x, axes, true)));
    const Tensor sums = sum(squares, axes, keepdim);
    const double divisor = std::max(0.0, static_cast<double>(count) - correction);
    const Tensor y = div(sums, divisor);
    if (!has_overflowed(sums, count)) return y;
    const double by = downscale(count);
    return where(isfinite(sums), y, div(sum(mul(squares, by), axes, keepdim), divisor * by));
}

Tensor stddev(const Tensor& x, const std::vector<int>& axes, int correction, bool keepdim) {
    check_floating("stddev", x);
    if (is_narrow(x.dtype())) {
        return in_f32([&](const Tensor& wide) { return stddev(wide, axes, correction, keepdim); },
                      x);
    }
    const FloatingPointGuard standard;
    const std::int64_t count = reduced_count(x.shape(), axis_mask("stddev", axes, x.rank()));
    const Tensor deviation = sub(x, mean(x, axes, true));
    const double divisor = std::sqrt(std::max(0.0, static_cast<double>(count) - correction));
    const Tensor lengths = norm(deviation, 2, axes, keepdim);
    const Tensor y = div(lengths, divisor);
    if (!has_overflowed(lengths, count)) return y;
    const double by = downscale(count);
    const Tensor scaled = norm(mul(deviation, by), 2, axes, keepdim);
    return where(isfinite(lengths), y, div(scaled, divisor * by));
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
        // g exp(x - y). Where y is -inf, x - y would be NaN; exp(x - 0) = 0 is the right value.
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
    for_rows(
        "logsumexp", x.dtype(), {y.numel(), n, kGrain / 8 / std::max<std::int64_t>(n, 1)},
        [](const auto& k) { return k.reduce.logsumexp; }, written(y), read(rows));
    return record<LogSumExpOp>({x}, y, mask, x, y);
}
}  // namespace

Tensor logsumexp(const Tensor& x, const std::vector<int>& axes, bool keepdim) {
    check_floating("logsumexp", x);
    const AxisMask mask = axis_mask("logsumexp", axes, x.rank());
    return logsumexp_over(x, mask, reduced_shape(x.shape(), mask, keepdim));
}

// ---- argmax, argmin -----------------------------------------------------------------------------

namespace {
// Index among x[0], x[step], ... of the first NaN, else of the first largest (or smallest).
template <class T>
std::int64_t index_of_extreme(const T* x, std::int64_t n, std::int64_t step, bool largest) {
    std::int64_t best = 0;
    for (std::int64_t i = 0; i < n; ++i) {
        const T value = x[i * step];
        if (value != value) return i;
        if (largest ? x[best * step] < value : value < x[best * step]) best = i;
    }
    return best;
}

Tensor arg_extreme(std::string_view op, const Tensor& x, int axis, bool keepdim, bool largest) {
    check_defined(op, x);
    if (x.rank() == 0) {
        require<ShapeError>(axis == 0 || axis == -1, "{}: axis {} is outside a tensor of rank 0",
                            op, axis);
        return zeros({}, DType::i64);
    }
    const int a = normalize_axis(op, axis, x.rank());
    const std::int64_t n = x.size(a);
    require<ShapeError>(n > 0, "{}: axis {} of {} is empty", op, axis, x.shape());
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
                const auto* line = from + i / inner * n * inner + i % inner;
                to[i] = index_of_extreme(line, n, inner, largest);
            }
        });
    });
    return y;
}
}  // namespace

Tensor argmax(const Tensor& x, int axis, bool keepdim) {
    return arg_extreme("argmax", x, axis, keepdim, true);
}

Tensor argmin(const Tensor& x, int axis, bool keepdim) {
    return arg_extreme("argmin", x, axis, keepdim, false);
}

}  // namespace tapestry
