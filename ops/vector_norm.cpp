// For p = 1, inf and -inf the norm is the sum, max or min of absolute values. For other p the rule
// avoids 0, where |x|^p has a kink or worse, by substituting 1. Rows whose powers overflow or
// underflow are scaled.
#include <tapestry/ops/reduction.h>

#include <tapestry/core/create.h>
#include <tapestry/core/floating_point.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/cast.h>
#include <tapestry/ops/check.h>
#include <tapestry/ops/comparison.h>
#include <tapestry/ops/elementwise.h>
#include <tapestry/ops/kernels/table.h>
#include <tapestry/ops/reduce_axes.h>
#include <tapestry/ops/staging.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace tapestry {
namespace {

Tensor norm_over(const Tensor& x, double p, const AxisMask& mask, const Shape& result);

// f(x), but 0 where x is 0, where f may be undefined.
template <class F>
Tensor zero_at_zero(const Tensor& x, F f) {
    const Tensor at_zero = eq(x, 0);
    const Tensor safe = where(at_zero, scalar(1, x.dtype()), x);
    return where(at_zero, scalar(0, x.dtype()), f(safe));
}

// Whether some y is so large or small that 1 / y overflows or loses digits.
bool has_extreme(const Tensor& y) {
    const double least = y.dtype() == DType::f32 ? 0x1p-120 : 0x1p-1000;
    bool found = false;
    visit_floating("norm", y.dtype(), [&](auto zero) {
        const auto* at = y.data<decltype(zero)>();
        for (std::int64_t i = 0; i < y.numel(); ++i) {
            const auto size = static_cast<double>(at[i]);
            found |= (size > 0 && size < least) || size > 1 / least;
        }
    });
    return found;
}

struct NormOp final : ReductionOp {
    NormOp(double exponent, const AxisMask& axes, const Tensor& x, const Tensor& y)
        : ReductionOp("norm", axes, {x, y}), p(exponent) {}

    Tensors forward(const Tensors& x) const override {
        return {norm_over(x[0], p, mask, outputs()[0].shape)};
    }

    // g x / y for p = 2, else g sign(x) (|x| / y)^(p-1): unlike x |x|^(p-2) y^(1-p), no factor
    // leaves the range before the product does.
    Tensors backward(const Tensors& grads) override {
        const Tensor& x = saved(0);
        const Tensor& y = saved(1);
        if (p == 2 && !has_extreme(y)) {
            const Tensor scale = zero_at_zero(y, [](const Tensor& v) { return pow(v, -1); });
            return {mul(x, kept(mul(grads[0], scale)))};
        }
        const Tensor at_zero = eq(y, 0);
        const Tensor along = where(at_zero, scalar(0, y.dtype()), grads[0]);
        const Tensor ratio = div(x, kept(where(at_zero, scalar(1, y.dtype()), y)));
        if (p == 2) return {mul(ratio, kept(along))};
        const Tensor powers = zero_at_zero(ratio, [this](const Tensor& v) {
            const Tensor size = pow(abs(v), p - 1);
            return where(lt(v, 0), neg(size), size);
        });
        return {mul(powers, kept(along))};
    }

    std::string attributes() const override {
        return fmt::format("p={}, {}", p, ReductionOp::attributes());
    }

    double p;
};

// x^(1/p), with a step of Newton's method: 1/p is rounded, and so is ln x / p, to which the
// relative error is proportional.
double root(double x, double p) {
    if (p == 2) return std::sqrt(x);
    const double y = std::pow(x, 1 / p);
    const double excess = std::pow(y, p) / x - 1;
    return std::isfinite(excess) ? y - y * excess / p : y;
}

// sum_i (|x_i| / m)^p, compensated (Kahan), because ^(1/p) multiplies its relative error by 1/p.
template <class T>
double sum_of_powers(const T* x, std::int64_t n, double m, double p) {
    double total = 0, lost = 0;
    for (std::int64_t i = 0; i < n; ++i) {
        const double ratio = std::abs(static_cast<double>(x[i])) / m;
        const double power = (p == 2 ? ratio * ratio : std::pow(ratio, p)) - lost;
        const double sum = total + power;
        lost = sum < HUGE_VAL ? (sum - total) - power : 0;
        total = sum;
    }
    return total;
}

// The norm of a row whose powers left the range: y = m (sum_i (|x_i| / m)^p)^(1/p), with m the
// largest |x_i|, or for p < 0 the smallest.
template <class T>
double norm_in_range(const T* x, std::int64_t n, double p) {
    double m = p > 0 ? 0 : std::numeric_limits<double>::infinity();
    for (std::int64_t i = 0; i < n; ++i) {
        const double size = std::abs(static_cast<double>(x[i]));
        if (std::isnan(size)) return size;
        m = p > 0 ? std::max(m, size) : std::min(m, size);
    }
    if (m == 0 || std::isinf(m)) return m;
    return m * root(sum_of_powers(x, n, m, p), p);
}

template <class T>
void norm_rows(T* y, const T* x, std::int64_t rows, std::int64_t n, double p) {
    const auto squares = kernels::table<T>().reduce.sum_of_squares;
    const auto piece = [&](const T* from, std::int64_t count) {
        return p == 2 ? squares(from, count) : sum_of_powers(from, count, 1, p);
    };
    constexpr double kLeast = 1e-290;  // below, powers have lost digits to underflow
    for (const double total : reduce_rows(x, rows, n, piece, std::plus<>())) {
        const bool in_range = n == 0 || (total >= kLeast && std::isfinite(total));
        *y++ = static_cast<T>(in_range ? root(total, p) : norm_in_range(x, n, p));
        x += n;
    }
}

Tensor norm_over(const Tensor& x, double p, const AxisMask& mask, const Shape& result) {
    const FloatingPointGuard standard;
    const Tensor rows = reduced_axes_last(x, mask);
    Tensor y(result, x.dtype());
    visit_floating("norm", x.dtype(), [&](auto zero) {
        using T = decltype(zero);
        norm_rows(y.mutable_data<T>(), rows.data<T>(), y.numel(), reduced_count(x.shape(), mask),
                  p);
    });
    return record<NormOp>({x}, y, p, mask, x, y);
}

}  // namespace

Tensor norm(const Tensor& x, double p, const std::vector<int>& axes, bool keepdim) {
    check_floating("norm", x);
    if (is_narrow(x.dtype())) {
        return in_f32([&](const Tensor& wide) { return norm(wide, p, axes, keepdim); }, x);
    }
    require(!std::isnan(p), "norm: p is NaN");
    const AxisMask mask = axis_mask("norm", axes, x.rank());
    if (p == 0) return to(sum(ne(x, 0), axes, keepdim), x.dtype());
    if (p == 1) return sum(abs(x), axes, keepdim);
    if (std::isinf(p)) {
        require<ShapeError>(reduced_count(x.shape(), mask) > 0,
                            "norm: p = {} over nothing: a reduced axis of {} is empty", p,
                            x.shape());
        return p > 0 ? max(abs(x), axes, keepdim) : min(abs(x), axes, keepdim);
    }
    return norm_over(x, p, mask, reduced_shape(x.shape(), mask, keepdim));
}

}  // namespace tapestry
