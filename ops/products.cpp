// Named products: shape checks, then a matmul() or a contraction.
#include <tapestry/ops/matmul.h>

#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/batch.h>
#include <tapestry/ops/check.h>
#include <tapestry/ops/contraction.h>
#include <tapestry/ops/einsum.h>
#include <tapestry/ops/view.h>

#include <algorithm>
#include <numeric>

namespace tapestry {
namespace {

// Checks dtypes and ranks of the operands.
void check_operands(std::string_view op, const Tensor& a, int a_rank, const Tensor& b, int b_rank) {
    check_floating(op, a);
    check_same_dtype(op, a, b);
    require<ShapeError>(a.rank() == a_rank && b.rank() == b_rank,
                        "{}: {} x {}: operands have {} and {} axes; matmul takes any", op,
                        a.shape(), b.shape(), a_rank, b_rank);
}

void check_inner(std::string_view op, const Tensor& a, const Tensor& b) {
    const std::int64_t inner = b.rank() == 1 ? b.size(0) : b.size(-2);
    require<ShapeError>(a.size(-1) == inner, "{}: inner sizes differ: {} x {} ({} against {})", op,
                        a.shape(), b.shape(), a.size(-1), inner);
}

// ---- tensordot ----------------------------------------------------------------------------------

// Labels the axes of x from `first` on, but those in `axes` 0, 1, ... in that order.
Labelled with_axes(const Tensor& x, const std::vector<int>& axes, int first) {
    Labelled result{x, Labels(static_cast<std::size_t>(x.rank()))};
    std::iota(result.labels.begin(), result.labels.end(), first);
    for (std::size_t i = 0; i < axes.size(); ++i) {
        const int axis = normalize_axis("tensordot", axes[i], x.rank());
        int& label = result.labels[static_cast<std::size_t>(axis)];
        require<ShapeError>(label >= first, "tensordot: axis {} of {} is named twice", axes[i],
                            x.shape());
        label = static_cast<int>(i);
    }
    return result;
}

std::vector<int> consecutive(int first, int count) {
    std::vector<int> axes(static_cast<std::size_t>(count));
    std::iota(axes.begin(), axes.end(), first);
    return axes;
}

}  // namespace

Tensor mm(const Tensor& a, const Tensor& b) {
    check_operands("mm", a, 2, b, 2);
    check_inner("mm", a, b);
    return matmul(a, b);
}

Tensor mv(const Tensor& a, const Tensor& x) {
    check_operands("mv", a, 2, x, 1);
    check_inner("mv", a, x);
    return matmul(a, x);
}

Tensor bmm(const Tensor& a, const Tensor& b) {
    check_operands("bmm", a, 3, b, 3);
    check_inner("bmm", a, b);
    require<ShapeError>(a.size(0) == b.size(0), "bmm: batches differ: {} x {} ({} against {})",
                        a.shape(), b.shape(), a.size(0), b.size(0));
    return matmul(a, b);
}

Tensor dot(const Tensor& x, const Tensor& y) {
    check_operands("dot", x, 1, y, 1);
    check_inner("dot", x, y);
    return matmul(x, y);
}

Tensor outer(const Tensor& a, const Tensor& b) {
    check_operands("outer", a, 1, b, 1);
    return mul(unsqueeze(a, 1), b);
}

Tensor trace(const Tensor& x) {
    check_square("trace", x);
    return einsum("...ii->...", {x});
}

Tensor tensordot(const Tensor& a, const Tensor& b, int axes) {
    check_floating("tensordot", a);
    check_same_dtype("tensordot", a, b);
    require<ValueError>(axes >= 0 && axes <= std::min(a.rank(), b.rank()),
                        "tensordot: {} axes of {} and {}", axes, a.shape(), b.shape());
    return tensordot(a, b, consecutive(a.rank() - axes, axes), consecutive(0, axes));
}

Tensor tensordot(const Tensor& a, const Tensor& b, const std::vector<int>& a_axes,
                 const std::vector<int>& b_axes) {
    check_floating("tensordot", a);
    check_same_dtype("tensordot", a, b);
    require<ShapeError>(a_axes.size() == b_axes.size(), "tensordot: {} axes of {} for {} of {}",
                        a_axes.size(), a.shape(), b_axes.size(), b.shape());
    constexpr int kFirst = Shape::kMaxRank;
    const Labelled x = with_axes(a, a_axes, kFirst);
    const Labelled y = with_axes(b, b_axes, 2 * kFirst);
    for (std::size_t i = 0; i < a_axes.size(); ++i) {
        require<ShapeError>(a.size(a_axes[i]) == b.size(b_axes[i]),
                            "tensordot: axis {} of {} against axis {} of {}", a_axes[i], a.shape(),
                            b_axes[i], b.shape());
    }
    return contract("tensordot", x, y, ~((LabelSet{1} << a_axes.size()) - 1)).x;
}

}  // namespace tapestry
