// Slide overlap, so their opposite adds (fold), and the two are each other's gradient. It adds
// the first elements of all windows, then the second ones and so on: within each of these rounds no
// two windows meet, and the order of additions does not depend on threads.
#include <tapestry/ops/unfold.h>

#include <tapestry/core/copy.h>
#include <tapestry/core/create.h>
#include <tapestry/core/loop.h>
#include <tapestry/core/views.h>
#include <tapestry/ops/check.h>

#include <fmt/format.h>

namespace tapestry {
namespace {

struct Slide {
    int axis;
    std::int64_t size, step;
};

Tensor fold(const Tensor& x, const Shape& shape, const Slide& w);

struct SlideOp : Op {
    SlideOp(const char* name, const Slide& w) : Op(name), windows(w) {}
    std::string attributes() const override {
        return fmt::format("axis={}, size={}, step={}", windows.axis, windows.size, windows.step);
    }
    const Slide windows;
};

struct UnfoldOp final : SlideOp {
    explicit UnfoldOp(const Slide& w) : SlideOp("unfold", w) {}
    double flops() const override { return 0; }
    Tensors forward(const Tensors& x) const override {
        return {unfold(x[0], windows.axis, windows.size, windows.step)};
    }
    Tensors backward(const Tensors& grads) override {
        return {fold(grads[0], inputs()[0].shape, windows)};
    }
};

struct FoldOp final : SlideOp {
    explicit FoldOp(const Slide& w) : SlideOp("fold", w) {}
    double flops() const override { return static_cast<double>(numel(inputs()[0].shape)); }
    Tensors forward(const Tensors& x) const override {
        return {fold(x[0], outputs()[0].shape, windows)};
    }
    Tensors backward(const Tensors& grads) override {
        return {unfold(grads[0], windows.axis, windows.size, windows.step)};
    }
};

template <class T>
void add_into(Tensor& y, const Tensor& x) {
    const Loop<2> loop(y.shape(), {y.strides(), x.strides()});
    const T* from = x.data<T>();
    Compute<T>* to = y.mutable_data<Compute<T>>();
    loop.for_each_row([&](const auto& offsets, std::int64_t n) {
        for (std::int64_t i = 0; i < n; ++i) {
            to[offsets[0] + i * loop.inner_stride(0)] +=
                from[offsets[1] + i * loop.inner_stride(1)];
        }
    });
}

// Not public. x [..., windows, ..., size] added up in zeros of `shape`; the axis counts from 0.
Tensor fold(const Tensor& x, const Shape& shape, const Slide& w) {
    Tensor sums = zeros(shape, compute_dtype(x.dtype()));
    const std::int64_t reach = (x.size(w.axis) - 1) * w.step + 1;
    for (std::int64_t k = 0; k < w.size; ++k) {
        Tensor places = views::slice(sums, w.axis, k, k + reach, w.step);
        const Tensor added = views::select("fold", x, -1, k);
        visit_stored("fold", x.dtype(),
                     [&](auto zero) { add_into<decltype(zero)>(places, added); });
    }
    Tensor y = cast(sums, x.dtype());
    return record<FoldOp>({x}, y, w);
}

}  // namespace

Tensor unfold(const Tensor& x, int axis, std::int64_t size, std::int64_t step) {
    check_defined("unfold", x);
    Tensor y = views::unfold(x, axis, size, step);
    return record<UnfoldOp>({x}, y, Slide{normalize_axis("unfold", axis, x.rank()), size, step});
}

}  // namespace tapestry
