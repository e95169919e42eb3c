// Numbers in order, along an axis.
//
// Any dtype, unless said. NaN is larger than every number, as in PyTorch; false is less than true.
// Of equal elements the one with the lower index comes first, ascending or descending: every order
// is stable. Indices are constants; values are taken by gather(), so that each passes its gradient
// to the element that it is. An axis may count from the end. Throws ShapeError for an axis outside
// the rank, as every axis is for a scalar, and for one of 2^32 elements.
// Read next: selection.h, which finds a few of a line without ordering all of it.
#pragma once

#include <tapestry/ops/selection.h>

#include <vector>

namespace tapestry {

/// x with every line along `axis` in order, and where its elements stood (i64). Time grows with the
/// number of elements alone: a radix sort.
Selection sort(const Tensor& x, int axis = -1, bool descending = false);

/// The indices that sort() returns.
Tensor argsort(const Tensor& x, int axis = -1, bool descending = false);

/// The number below which a share q of each line lies: with the elements in order, z_0 <= z_1 ...,
/// the one at place q (n - 1), between two places y = z_i + w (z_{i+1} - z_i), w being how far the
/// place lies beyond i. f32, f64. Gradient: (1 - w) g to the one and w g to the other. A line with
/// a NaN gives NaN, and so does a place between -inf and something else, as in PyTorch. Throws
/// ShapeError when the axis is empty, ValueError unless 0 <= q <= 1.
Tensor quantile(const Tensor& x, double q, int axis, bool keepdim = false);

/// The same of all elements together: rank 0.
Tensor quantile(const Tensor& x, double q);

/// The same for several q, which become axis 0 of the result, [len(q), ...].
Tensor quantile(const Tensor& x, const std::vector<double>& q, int axis, bool keepdim = false);

}  // namespace tapestry
