// The backward of a view is the inverse view of the gradient (for expand, sum_to); for slices and
// diagonals, which are parts, see subview.h.
#include <tapestry/ops/view.h>

#include <tapestry/core/copy.h>
#include <tapestry/core/create.h>
#include <tapestry/core/loop.h>
#include <tapestry/core/views.h>
#include <tapestry/ops/check.h>
#include <tapestry/ops/reduction.h>
#include <tapestry/ops/subview.h>

#include <fmt/format.h>

namespace tapestry {
namespace {

struct ViewOp : Op {
    using Op::Op;
    double flops() const override { return 0; }
};

}  // namespace

// ---- reshape ------------------------------------------------------------------------------------

namespace {
struct ReshapeOp final : ViewOp {
    ReshapeOp() : ViewOp("reshape") {}
    Tensors forward(const Tensors& x) const override { return {reshape(x[0], outputs()[0].shape)}; }
    Tensors backward(const Tensors& grads) override {
        return {reshape(grads[0], inputs()[0].shape)};
    }
};
}  // namespace

Tensor reshape(const Tensor& x, const Shape& shape) {
    check_defined("reshape", x);
    Tensor y = views::reshape(x, shape);
    return record<ReshapeOp>({x}, y);
}

Tensor squeeze(const Tensor& x, int axis) {
    check_defined("squeeze", x);
    const int a = normalize_axis("squeeze", axis, x.rank());
    require<ShapeError>(x.size(a) == 1, "squeeze: axis {} of {} has size {}, not 1", axis,
                        x.shape(), x.size(a));
    Shape shape = x.shape();
    shape.erase(a);
    return reshape(x, shape);
}

Tensor unsqueeze(const Tensor& x, int axis) {
    check_defined("unsqueeze", x);
    Shape shape = x.shape();
    shape.insert(normalize_axis("unsqueeze", axis, x.rank() + 1), 1);
    return reshape(x, shape);
}

Tensor flatten(const Tensor& x, int first, int last) {
    check_defined("flatten", x);
    if (x.rank() == 0) return reshape(x, {1});
    const int begin = normalize_axis("flatten", first, x.rank());
    const int end = normalize_axis("flatten", last, x.rank());
    require<ShapeError>(begin <= end, "flatten: axis {} comes after axis {} in {}", first, last,
                        x.shape());
    const Shape merged{numel(x.shape().sub(begin, end + 1))};
    return reshape(x, x.shape().sub(0, begin) + merged + x.shape().sub(end + 1, x.rank()));
}

// ---- contiguous ---------------------------------------------------------------------------------

namespace {
struct ContiguousOp final : ViewOp {
    ContiguousOp() : ViewOp("contiguous") {}
    Tensors forward(const Tensors& x) const override { return {contiguous(x[0])}; }
    Tensors backward(const Tensors& grads) override { return {grads[0]}; }
};
}  // namespace

Tensor contiguous(const Tensor& x) {
    check_defined("contiguous", x);
    if (x.is_contiguous()) return x;
    Tensor y = x.clone();
    return record<ContiguousOp>({x}, y);
}

// ---- transpose and permute ----------------------------------------------------------------------

namespace {
struct TransposeOp final : ViewOp {
    TransposeOp(int axis0, int axis1) : ViewOp("transpose"), axis0_(axis0), axis1_(axis1) {}
    std::string attributes() const override { return fmt::format("axes={},{}", axis0_, axis1_); }
    Tensors forward(const Tensors& x) const override { return {transpose(x[0], axis0_, axis1_)}; }
    Tensors backward(const Tensors& grads) override {
        return {transpose(grads[0], axis0_, axis1_)};
    }

private:
    int axis0_;
    int axis1_;
};

struct PermuteOp final : ViewOp {
    explicit PermuteOp(const std::vector<int>& order) : ViewOp("permute"), order_(order) {}
    std::string attributes() const override {
        return fmt::format("order={}", fmt::join(order_, ","));
    }
    Tensors forward(const Tensors& x) const override { return {permute(x[0], order_)}; }
    Tensors backward(const Tensors& grads) override {
        std::vector<int> inverse(order_.size());
        for (std::size_t i = 0; i < order_.size(); ++i) {
            const int axis = normalize_axis("permute", order_[i], grads[0].rank());
            inverse[static_cast<std::size_t>(axis)] = static_cast<int>(i);
        }
        return {permute(grads[0], inverse)};
    }

private:
    std::vector<int> order_;
};
}  // namespace

Tensor transpose(const Tensor& x, int axis0, int axis1) {
    check_defined("transpose", x);
    Tensor y = views::transpose(x, axis0, axis1);
    return record<TransposeOp>({x}, y, axis0, axis1);
}

Tensor permute(const Tensor& x, const std::vector<int>& order) {
    check_defined("permute", x);
    Tensor y = views::permute(x, order);
    return record<PermuteOp>({x}, y, order);
}

// ---- slice --------------------------------------------------------------------------------------

namespace {
struct SliceView {
    static constexpr const char* kName = "slice";
    int axis;
    std::int64_t start, stop, step;

    std::string attributes() const {
        return fmt::format("axis={}, {}:{}:{}", axis, start, stop, step);
    }
    Tensor operator()(const Tensor& x) const { return views::slice(x, axis, start, stop, step); }
};
}  // namespace

Tensor slice(const Tensor& x, int axis, std::int64_t start, std::int64_t stop, std::int64_t step) {
    check_defined("slice", x);
    return take_part(x, SliceView{axis, start, stop, step});
}

// ---- expand -------------------------------------------------------------------------------------

namespace {
struct ExpandOp final : ViewOp {
    ExpandOp() : ViewOp("expand") {}
    Tensors forward(const Tensors& x) const override { return {expand(x[0], outputs()[0].shape)}; }
    Tensors backward(const Tensors& grads) override {
        return {sum_to(grads[0], inputs()[0].shape)};
    }
};
}  // namespace

Tensor expand(const Tensor& x, const Shape& shape) {
    check_defined("expand", x);
    Tensor y = views::expand(x, shape);
    return record<ExpandOp>({x}, y);
}

// ---- diagonal, diag -----------------------------------------------------------------------------
// A diagonal is a part of its matrix; its stride is the sum of both axes' strides.

namespace {

struct DiagonalView {
    static constexpr const char* kName = "diagonal";
    std::int64_t offset;
    int axis0, axis1;

    std::string attributes() const {
        return fmt::format("offset={}, axes={},{}", offset, axis0, axis1);
    }
    Tensor operator()(const Tensor& x) const { return views::diagonal(x, offset, axis0, axis1); }
};

}  // namespace

Tensor diagonal(const Tensor& x, std::int64_t offset, int axis0, int axis1) {
    check_defined("diagonal", x);
    return take_part(x, DiagonalView{offset, axis0, axis1});
}

Tensor diag(const Tensor& x, std::int64_t offset) {
    check_defined("diag", x);
    require<ShapeError>(x.rank() == 1 || x.rank() == 2,
                        "diag: needs a vector or a matrix, got {}; see diagonal", x.shape());
    if (x.rank() == 2) return diagonal(x, offset);
    constexpr std::int64_t kLimit = std::int64_t{1} << 31;  // its square exceeds any memory
    require(offset > -kLimit && offset < kLimit, "diag: offset {} makes too large a matrix",
            offset);
    const std::int64_t side = x.numel() + (offset < 0 ? -offset : offset);
    return place_part(x, {side, side}, DiagonalView{offset, 0, 1});
}

// ---- unfold -------------------------------------------------------------------------------------
// Windows may overlap, so the adjoint, fold, adds; the two are each other's gradient. fold adds the
// first elements of all windows, then the second ones, and so on: within a round no two windows
// write to the same element, so the order of additions is fixed.

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

// Adds x [..., windows, ..., size] into zeros of `shape`; the axis counts from 0.
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
