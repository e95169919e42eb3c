// Reductions of whole tensors, forward only: for op authors. Internal to ops.
//
// Axes that lie side by side are one axis to a reduction, so every case becomes a few steps from
// [outer, reduced, inner] to [outer, inner]: rows when inner is 1, columns otherwise; nothing is
// copied unless x has gaps. Read next: kernels/reduce.h (the pieces), reduction.cpp (the ops).
#pragma once

#include <tapestry/core/tensor.h>

#include <array>
#include <string_view>
#include <vector>

namespace tapestry {

/// Which axes a reduction runs over: element i is true for axis i.
using AxisMask = std::array<bool, Shape::kMaxRank>;

/// From what users pass: axes may count from the end; none means all. Throws ShapeError for an axis
/// outside the rank or named twice.
AxisMask axis_mask(std::string_view op, const std::vector<int>& axes, int rank);

/// `shape` with the masked axes set to 1 (keepdim) or left out.
Shape reduced_shape(const Shape& shape, const AxisMask& mask, bool keepdim);

/// How many elements each result is made of.
std::int64_t reduced_count(const Shape& shape, const AxisMask& mask);

enum class Reducer { sum, max, min };

/// x, f32 or f64, reduced over the masked axes; shape `result`, which has as many elements as
/// reduced_shape. Long sums are cut into pieces whose partial sums are added in index order: the
/// cut depends on the shape alone. An empty sum is 0, an empty max -inf, an empty min inf.
Tensor reduce_axes(const Tensor& x, const AxisMask& mask, Reducer reducer, const Shape& result);

/// x with the masked axes moved behind the others, dense: [kept..., reduced...]
Tensor reduced_axes_last(const Tensor& x, const AxisMask& mask);

}  // namespace tapestry
