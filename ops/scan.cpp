// Running totals along an axis: traversal of the lines, the ops' base, and the ops. The gradient of
// a running sum is the running sum in the other direction, to any order.
//
// y_i = x_i y_{i-1} is a linear recurrence, and so is its derivative, run in reverse: both are
// expressed by s_i = a_i s_{i-1} + b_i, whose gradient is again such a recurrence, without
// division. Source: Blelloch 1990, "Prefix sums and their applications", section 1.4.
#include <tapestry/ops/scan.h>

#include <tapestry/autograd/op.h>
#include <tapestry/autograd/tape.h>
#include <tapestry/core/copy.h>
#include <tapestry/core/floating_point.h>
#include <tapestry/core/loop.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/check.h>
#include <tapestry/ops/join.h>
#include <tapestry/ops/reduce_axes.h>
#include <tapestry/ops/subscript.h>

#include <algorithm>
#include <array>
#include <functional>

namespace tapestry {

// ---- along the lines ----------------------------------------------------------------------------

namespace {

/// For every line along `axis` of a row-major tensor of `shape`, forward or in `reverse`:
/// total = step(total, at), where `at` is the element's offset and total begins as `start`. Lines
/// are shared among threads; 64 adjacent lines run together, so memory is read in order.
template <class Total, class Step>
void scan_lines(const Shape& shape, int axis, bool reverse, Total start, Step step) {
    constexpr std::int64_t kColumns = 64;
    if (numel(shape) == 0) return;
    const std::int64_t n = shape.empty() ? 1 : shape[axis];  // a scalar is a line of one
    const std::int64_t inner = shape.empty() ? 1 : numel(shape.sub(axis + 1, shape.rank()));
    const std::int64_t outer = numel(shape) / (n * inner);
    const std::int64_t strips = (inner + kColumns - 1) / kColumns;
    const std::int64_t grain = kGrain / (n * std::min(inner, kColumns));
    parallel_for(outer * strips, grain, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t unit = begin; unit < end; ++unit) {
            const std::int64_t column = unit % strips * kColumns;
            const std::int64_t width = std::min(kColumns, inner - column);
            std::int64_t at = unit / strips * n * inner + (reverse ? (n - 1) * inner : 0) + column;
            std::array<Total, kColumns> totals;
            totals.fill(start);
            for (std::int64_t i = 0; i < n; ++i, at += reverse ? -inner : inner) {
                for (std::int64_t j = 0; j < width; ++j) {
                    Total& total = totals[static_cast<std::size_t>(j)];
                    total = step(total, at + j);
                }
            }
        }
    });
}

/// Accumulator for T. Unsigned for i64, which wraps around where signed overflow would be
/// undefined.
template <class T>
using ScanTotal = std::conditional_t<std::is_same_v<T, std::int64_t>, std::uint64_t, double>;

/// Base of ops along an axis, forward or from its end.
struct ScanOp : Op {
    ScanOp(const char* name, int along, bool from_end, const TensorRefs& saved = {})
        : Op(name, saved), axis(along), reverse(from_end) {}
    std::string attributes() const override {
        return fmt::format("axis={}{}", axis, reverse ? ", reverse" : "");
    }
    int axis;
    bool reverse;
};

/// y_k = combine(y_{k-1}, x_k) along `axis`, or from its end, with y_{-1} = `start`; not recorded.
/// Any dtype but bool.
template <class Combine>
Tensor running_total(const Tensor& x, int axis, bool reverse, int start, Combine combine) {
    const Tensor from = dense(x);
    Tensor y(x.shape(), x.dtype());
    visit_dtype(x.dtype(), [&](auto zero) {
        using T = decltype(zero);
        if constexpr (!std::is_same_v<T, bool>) {
            const T* in = from.data<T>();
            T* out = y.mutable_data<T>();
            using Total = ScanTotal<T>;
            scan_lines(x.shape(), axis, reverse, static_cast<Total>(start),
                       [=](Total total, std::int64_t at) {
                           total = combine(total, static_cast<Total>(in[at]));
                           out[at] = static_cast<T>(total);
                           return total;
                       });
        }
    });
    return y;
}

Tensor as_number(const Tensor& x) { return x.dtype() == DType::boolean ? cast(x, DType::i64) : x; }

}  // namespace

// ---- cumsum -------------------------------------------------------------------------------------

namespace {

Tensor scan(const Tensor& x, int axis, bool reverse);

struct CumsumOp final : ScanOp {
    CumsumOp(int along, bool from_end) : ScanOp("cumsum", along, from_end) {}
    Tensors forward(const Tensors& x) const override { return {scan(x[0], axis, reverse)}; }
    Tensors backward(const Tensors& grads) override { return {scan(grads[0], axis, !reverse)}; }
};

Tensor scan(const Tensor& x, int axis, bool reverse) {
    Tensor y = running_total(x, axis, reverse, 0, [](auto sum, auto term) { return sum + term; });
    return record<CumsumOp>({x}, y, axis, reverse);
}

}  // namespace

Tensor cumsum(const Tensor& x, int axis) {
    check_defined("cumsum", x);
    const int along = normalize_axis("cumsum", axis, std::max(x.rank(), 1));
    return scan(as_number(x), along, false);
}

// ---- the recurrence -----------------------------------------------------------------------------

namespace {

// y_i = x_{i-1} in the direction of the scan, with `first` at its beginning.
Tensor delayed(const Tensor& x, int axis, bool reverse, double first) {
    if (x.numel() == 0) return x;
    std::vector<Padding> frame(static_cast<std::size_t>(x.rank()));
    Padding& ends = frame[static_cast<std::size_t>(axis)];
    (reverse ? ends.after : ends.before) = 1;
    const std::int64_t n = x.size(axis);
    return pad(slice(x, axis, reverse ? 1 : 0, reverse ? n : n - 1), frame, first);
}

Tensor linear_recurrence(const Tensor& a, const Tensor& b, int axis, bool reverse);

// With l the total gradient of s, l_i = g_i + a_{i+1} l_{i+1}; the gradient of b_i is l_i, and that
// of a_i is l_i s_{i-1}.
struct LinearRecurrenceOp final : ScanOp {
    LinearRecurrenceOp(int along, bool from_end, const Tensor& a, const Tensor& s)
        : ScanOp("linear_recurrence", along, from_end, {a, s}) {}
    Tensors forward(const Tensors& x) const override {
        return {linear_recurrence(x[0], x[1], axis, reverse)};
    }
    Tensors backward(const Tensors& grads) override {
        const Tensor next = delayed(saved(0), axis, !reverse, 0);
        const Tensor l = linear_recurrence(next, grads[0], axis, !reverse);
        return {needs(0) ? mul(l, delayed(saved(1), axis, reverse, 0)) : Tensor(), l};
    }
};

// s_i = a_i s_{i-1} + b_i along `axis`, with s = 0 before the first; a, b, s have one shape.
Tensor linear_recurrence(const Tensor& a, const Tensor& b, int axis, bool reverse) {
    const Tensor factors = dense(a);
    const Tensor terms = dense(b);
    Tensor s(a.shape(), a.dtype());
    visit_stored("linear_recurrence", a.dtype(), [&](auto zero) {
        using T = decltype(zero);
        const T* factor = factors.data<T>();
        const T* term = terms.data<T>();
        T* to = s.mutable_data<T>();
        scan_lines(a.shape(), axis, reverse, 0.0, [=](double before, std::int64_t at) {
            before = static_cast<double>(factor[at]) * before + static_cast<double>(term[at]);
            to[at] = static_cast<T>(before);
            return before;
        });
    });
    return record<LinearRecurrenceOp>({a, b}, s, axis, reverse, a, s);
}

}  // namespace

// ---- cumprod ------------------------------------------------------------------------------------

namespace {

Tensor running_product(const Tensor& x, int axis, bool reverse);

// x_k is a factor of y_k, y_{k+1}, ...: its gradient is y_{k-1} (g_k + x_{k+1} (g_{k+1} + ...)).
struct CumprodOp final : ScanOp {
    CumprodOp(int along, bool from_end, const Tensor& x, const Tensor& y)
        : ScanOp("cumprod", along, from_end, {x, y}) {}
    Tensors forward(const Tensors& x) const override {
        return {running_product(x[0], axis, reverse)};
    }
    Tensors backward(const Tensors& grads) override {
        const Tensor& x = saved(0);
        if (x.rank() == 0) return {grads[0]};
        const Tensor next = delayed(x, axis, !reverse, 0);
        return {mul(linear_recurrence(next, grads[0], axis, !reverse),
                    delayed(saved(1), axis, reverse, 1))};
    }
};

Tensor running_product(const Tensor& x, int axis, bool reverse) {
    Tensor y = running_total(x, axis, reverse, 1,
                             [](auto product, auto factor) { return product * factor; });
    return record<CumprodOp>({x}, y, axis, reverse, x, y);
}

}  // namespace

Tensor cumprod(const Tensor& x, int axis) {
    check_defined("cumprod", x);
    const int along = normalize_axis("cumprod", axis, std::max(x.rank(), 1));
    return running_product(as_number(x), along, false);
}

// ---- prod ---------------------------------------------------------------------------------------

namespace {

// The permutation of reduced_axes_last(), and its inverse.
struct LastOrder {
    std::vector<int> there;
    std::vector<int> back;
    LastOrder(const AxisMask& mask, int rank) : back(static_cast<std::size_t>(rank)) {
        for (const bool reduced : {false, true}) {
            for (int axis = 0; axis < rank; ++axis) {
                const auto a = static_cast<std::size_t>(axis);
                if (mask[a] != reduced) continue;
                back[a] = static_cast<int>(there.size());
                there.push_back(axis);
            }
        }
    }
};

// to[i] = the product of all elements of i's row but itself.
template <class T>
void multiply_others(T* to, const T* x, std::int64_t n) {
    double before = 1;
    for (std::int64_t i = 0; i < n; ++i) {
        to[i] = static_cast<T>(before);
        before *= static_cast<double>(x[i]);
    }
    double after = 1;
    for (std::int64_t i = n - 1; i >= 0; --i) {
        to[i] = static_cast<T>(static_cast<double>(to[i]) * after);
        after *= static_cast<double>(x[i]);
    }
}

Tensor prod_over(const Tensor& x, const AxisMask& mask, const Shape& result);

struct ProdOp final : ReductionOp {
    ProdOp(const AxisMask& axes, const Tensor& x) : ReductionOp("prod", axes, {x}) {}
    Tensors forward(const Tensors& x) const override {
        return {prod_over(x[0], mask, outputs()[0].shape)};
    }
    Tensors backward(const Tensors& grads) override {
        const Tensor& x = saved(0);
        const LastOrder order(mask, x.rank());
        const Tensor last = permute(x, order.there);  // [kept..., reduced...]
        const std::int64_t n = reduced_count(x.shape(), mask);
        const Shape rows{n == 0 ? 0 : x.numel() / n, n};
        const Tensor others = is_recording() ? recorded(reshape(last, rows)) : fused(last, rows);
        return {mul(permute(reshape(others, last.shape()), order.back), kept(grads[0]))};
    }

private:
    static Tensor recorded(const Tensor& rows) {
        const Tensor before = delayed(running_product(rows, 1, false), 1, false, 1);
        const Tensor after = delayed(running_product(rows, 1, true), 1, true, 1);
        return mul(before, after);
    }

    static Tensor fused(const Tensor& last, const Shape& rows) {
        const Tensor from = dense(last);
        Tensor others(rows, last.dtype());
        visit_stored("prod", last.dtype(), [&](auto zero) {
            using T = decltype(zero);
            const T* x = from.data<T>();
            T* to = others.mutable_data<T>();
            const std::int64_t n = rows[1];
            const std::int64_t grain = kGrain / std::max<std::int64_t>(1, n);
            parallel_for(rows[0], grain, [=](std::int64_t begin, std::int64_t end) {
                for (std::int64_t r = begin; r < end; ++r)
                    multiply_others(to + r * n, x + r * n, n);
            });
        });
        return others;
    }
};

Tensor prod_over(const Tensor& x, const AxisMask& mask, const Shape& result) {
    const FloatingPointGuard standard;
    const Tensor rows = reduced_axes_last(x, mask);
    Tensor y(result, x.dtype());
    visit_dtype(x.dtype(), [&](auto zero) {
        using T = decltype(zero);
        if constexpr (!std::is_same_v<T, bool>) {
            const auto piece = [](const T* from, std::int64_t n) {
                ScanTotal<T> product = 1;
                for (std::int64_t i = 0; i < n; ++i) {
                    product *= static_cast<ScanTotal<T>>(from[i]);
                }
                return product;
            };
            const auto products =
                reduce_rows(rows.data<T>(), y.numel(), reduced_count(x.shape(), mask), piece,
                            std::multiplies<>());
            std::transform(products.begin(), products.end(), y.mutable_data<T>(),
                           [](auto product) { return static_cast<T>(product); });
        }
    });
    return record<ProdOp>({x}, y, mask, x);
}

}  // namespace

Tensor prod(const Tensor& x, const std::vector<int>& axes, bool keepdim) {
    check_defined("prod", x);
    const AxisMask mask = axis_mask("prod", axes, x.rank());
    return prod_over(as_number(x), mask, reduced_shape(x.shape(), mask, keepdim));
}

// ---- differences --------------------------------------------------------------------------------

Tensor diff(const Tensor& x, std::int64_t n, int axis) {
    check_defined("diff", x);
    const int along = normalize_axis("diff", axis, x.rank());
    require(n >= 0, "diff: n must be >= 0, got {}", n);
    require<DTypeError>(x.dtype() != DType::boolean, "diff: needs numbers, got bool");
    Tensor y = x;
    for (; n > 0 && y.size(along) > 0; --n) {
        const std::int64_t size = y.size(along) - 1;
        y = sub(narrow(y, along, 1, size), narrow(y, along, 0, size));
    }
    return y;
}

}  // namespace tapestry
