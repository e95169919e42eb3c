// For p = 1, inf and -inf the norm is the sum, max or min of absolute values. For other p the rule
// avoids 0, where |x|^p has a kink or worse, by substituting 1.
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

#include <cmath>

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

struct NormOp final : ReductionOp {
    NormOp(double exponent, const AxisMask& axes, const Tensor& x, const Tensor& y)
        : ReductionOp("norm", axes, {x, y}), p(exponent) {}

    Tensors forward(const Tensors& x) const override {
        return {norm_over(x[0], p, mask, outputs()[0].shape)};
    }

    Tensors backward(const Tensors& grads) override {
        const Tensor& x = saved(0);
        // y^(1-p)
        const Tensor scale =
            zero_at_zero(saved(1), [this](const Tensor& y) { return pow(y, 1 - p); });
        const Tensor along = kept(mul(grads[0], scale));  // [.., 1, ..]
        if (p == 2) return {mul(x, along)};
        const Tensor powers =
            zero_at_zero(x, [this](const Tensor& v) { return mul(v, pow(abs(v), p - 2)); });
        return {mul(powers, along)};
    }

    std::string attributes() const override {
        return fmt::format("p={}, {}", p, ReductionOp::attributes());
    }

    double p;
};

template <class T>
void norm_rows(T* y, const T* x, std::int64_t rows, std::int64_t n, double p) {
    const auto squares = kernels::table<T>().reduce.sum_of_squares;
    const auto piece = [&](const T* from, std::int64_t count) {
        if (p == 2) return squares(from, count);
        double total = 0;
        for (std::int64_t i = 0; i < count; ++i) {
            total += std::pow(std::abs(static_cast<double>(from[i])), p);
        }
        return total;
    };
    const auto totals = reduce_rows(x, rows, n, piece, std::plus<>());
    for (const double total : totals) {
        *y++ = static_cast<T>(p == 2 ? std::sqrt(total) : std::pow(total, 1 / p));
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
    if (is_half(x.dtype())) {
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
