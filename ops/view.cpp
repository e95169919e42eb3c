// Backward through a view is the opposite view of the gradient, as sum_to is that of expand; of a
// slice see part.h.
#include <tapestry/ops/view.h>

#include <tapestry/core/views.h>
#include <tapestry/ops/check.h>
#include <tapestry/ops/part.h>
#include <tapestry/ops/reduction.h>

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
    Shape shape = x.shape().sub(0, begin);
    shape.push_back(numel(x.shape().sub(begin, end + 1)));
    for (int axis = end + 1; axis < x.rank(); ++axis) shape.push_back(x.size(axis));
    return reshape(x, shape);
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

}  // namespace tapestry
