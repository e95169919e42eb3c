// The forward pass of reductions, and the tape entry that they share: for op authors.
// Internal to ops.
//
// Adjacent axes merge into one, so every reduction becomes a few steps from [outer, reduced, inner]
// to [outer, inner]: of rows if inner is 1, of columns otherwise. Nothing is copied unless x has
// gaps. Read next: kernels/reduce.h (the pieces), reduction.cpp (the ops).
#pragma once

#include <tapestry/autograd/tape.h>
#include <tapestry/core/loop.h>
#include <tapestry/ops/view.h>

#include <array>
#include <string_view>
#include <vector>

namespace tapestry {

/// Which axes a reduction runs over: element i is true for axis i.
using AxisMask = std::array<bool, Shape::kMaxRank>;

/// The mask of axes as users pass them: they may count from the end; none means all. Throws
/// ShapeError for an axis outside the rank or named twice.
AxisMask axis_mask(std::string_view op, const std::vector<int>& axes, int rank);

/// `shape` with the masked axes set to 1 (keepdim) or left out.
Shape reduced_shape(const Shape& shape, const AxisMask& mask, bool keepdim);

/// Number of elements that each result reduces.
std::int64_t reduced_count(const Shape& shape, const AxisMask& mask);

enum class Reducer { sum, max, min };

/// Floating-point x reduced over the masked axes, as shape `result`, which has as many elements as
/// reduced_shape. For bf16 and f16 the result is f32, for the caller to round. Long sums are cut
/// into pieces whose partial sums are added in index order; the cut depends only on the shape. An
/// empty sum is 0, an empty max -inf, an empty min inf.
Tensor reduce_axes(const Tensor& x, const AxisMask& mask, Reducer reducer, const Shape& result);

/// x with the masked axes moved to the end, dense: [kept..., reduced...]
Tensor reduced_axes_last(const Tensor& x, const AxisMask& mask);

/// For reductions without a kernel: one result for each of `rows` rows of n elements, row-major at
/// x. Rows are cut into pieces; piece(x, length) reduces each, and join(a, b) combines them in
/// order. An empty row is one empty piece.
template <class T, class Piece, class Join>
auto reduce_rows(const T* x, std::int64_t rows, std::int64_t n, Piece piece, Join join) {
    const std::int64_t pieces = std::max<std::int64_t>(1, (n + kGrain - 1) / kGrain);
    const std::int64_t grain = kGrain / std::max<std::int64_t>(1, std::min(n, kGrain));
    std::vector<decltype(piece(x, n))> parts(static_cast<std::size_t>(rows * pieces));
    parallel_for(rows * pieces, grain, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
            const std::int64_t first = i % pieces * kGrain;
            const T* from = x + i / pieces * n + first;
            parts[static_cast<std::size_t>(i)] = piece(from, std::min(kGrain, n - first));
        }
    });
    if (pieces == 1) return parts;
    for (std::size_t r = 0; r < static_cast<std::size_t>(rows); ++r) {
        const std::size_t first = r * static_cast<std::size_t>(pieces);
        auto whole = parts[first];
        for (std::size_t i = 1; i < static_cast<std::size_t>(pieces); ++i) {
            whole = join(whole, parts[first + i]);
        }
        parts[r] = whole;
    }
    parts.resize(static_cast<std::size_t>(rows));
    return parts;
}

/// Base of all reductions' tape entries: the reduced axes, and expanding results back to the
/// input's shape.
struct ReductionOp : Op {
    ReductionOp(std::string_view name, const AxisMask& axes, const TensorRefs& saved = {})
        : Op(name, saved), mask(axes) {}

    /// A tensor of the output's shape as [.., 1, ..], which broadcasts against the input.
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

}  // namespace tapestry
