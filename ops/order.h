// Selection, sorting and quantiles along an axis, and the distinct values of a tensor.
//
// Any dtype, unless noted. The axis may count from the end. NaN is larger than every number, as in
// PyTorch; false is less than true. Every order is stable: of equal elements the one with the lower
// index comes first, ascending or descending. Indices are constants; values are read by gather(),
// so their gradients go to the elements that they came from. Throws ShapeError for an axis outside
// the rank (for a scalar, any axis), if there is nothing to choose from, and for an axis of 2^32
// elements or more. Read next: order_rows.h (the algorithms for one row).
#pragma once

#include <tapestry/core/tensor.h>

#include <vector>

namespace tapestry {

/// Elements of a tensor and their indices along an axis (i64), both of one shape:
///     const auto [values, indices] = topk(logits, 5);
struct Selection {
    Tensor values;   ///< the elements
    Tensor indices;  ///< i64: where each was on the axis
};

/// The k largest elements of each line along `axis`, largest first, or the k smallest, smallest
/// first; `axis` of both results has size k. The rest is not sorted: time grows with the size of x,
/// and with k log k. Throws ShapeError if k is larger than the axis, ValueError if it is negative.
Selection topk(const Tensor& x, std::int64_t k, int axis = -1, bool largest = true);

/// The k-th smallest element of each line, counted from 1; the axis is removed or, with keepdim,
/// kept with size 1. Throws ShapeError unless 1 <= k <= size of the axis.
Selection kthvalue(const Tensor& x, std::int64_t k, int axis = -1, bool keepdim = false);

/// The median of each line, the lower of the middle two for an even number (as in PyTorch;
/// quantile() with q = 1/2 takes their mean). A line with a NaN gives NaN, with the index of the
/// first.
Selection median(const Tensor& x, int axis, bool keepdim = false);
/// The median of all elements, a scalar. The gradient goes to one element.
Tensor median(const Tensor& x);

/// The largest element of each line and its first index; the first NaN, if there is one. PyTorch's
/// max(x, dim), under a name that does not confuse max(x, 1) with max(x, {1}). The gradient goes to
/// that one element, whereas max() shares it among equals.
Selection max_with_indices(const Tensor& x, int axis, bool keepdim = false);
/// The smallest, otherwise as max_with_indices; NaN also wins here.
Selection min_with_indices(const Tensor& x, int axis, bool keepdim = false);

// ---- whole lines --------------------------------------------------------------------------------

/// Sorts every line along `axis`; returns the values and their indices in x (i64). A radix sort:
/// time is linear in the number of elements.
Selection sort(const Tensor& x, int axis = -1, bool descending = false);

/// The indices that sort() returns.
Tensor argsort(const Tensor& x, int axis = -1, bool descending = false);

/// The q-quantile of each line, interpolated linearly: with the elements sorted, z_0 <= z_1 ...,
/// and q (n - 1) = i + w with 0 <= w < 1, y = z_i + w (z_{i+1} - z_i). Floating-point. Gradient: (1
/// - w) g to z_i and w g to z_{i+1}. A line with a NaN gives NaN, and so does interpolating between
/// -inf and anything else, as in PyTorch. Throws ShapeError if the axis is empty, ValueError unless
/// 0 <= q <= 1.
Tensor quantile(const Tensor& x, double q, int axis, bool keepdim = false);

/// The same over all elements, a scalar.
Tensor quantile(const Tensor& x, double q);

/// The same for several q, which become axis 0 of the result, [len(q), ...].
Tensor quantile(const Tensor& x, const std::vector<double>& q, int axis, bool keepdim = false);

/// For each of `values` the index at which it would be inserted into `sorted`, ascending along the
/// last axis: how many elements are less than it, or with `right`, less or equal. i64, of the shape
/// of `values`; both of one dtype (DTypeError). `sorted` is [n], or [..., n] with the axes before
/// those of `values` (ShapeError). It is not checked to be sorted. No gradient.
Tensor searchsorted(const Tensor& sorted, const Tensor& values, bool right = false);

// ---- distinct values and counts -----------------------------------------------------------------

/// The n distinct values of a tensor.
struct Unique {
    Tensor values;   ///< [n], ascending
    Tensor inverse;  ///< i64, of x's shape: x = values[inverse]
    Tensor counts;   ///< i64 [n]: how often each occurs in x
};

/// The distinct values of x, of any dtype. NaN is one value, equal to itself and sorted last, as in
/// NumPy (PyTorch lists each NaN); 0 and -0 are equal. No gradient flows. Throws ShapeError for
/// 2^32 elements or more.
Unique unique(const Tensor& x);

/// y[v] = how many elements of x (i64) are v, as i64 [n], where n is the largest element plus 1,
/// and at least `minlength`. Unlike in PyTorch, x may have any shape; for weights see scatter_add.
/// Throws DTypeError, and ValueError for a negative minlength or an element outside [0, 2^48).
Tensor bincount(const Tensor& x, std::int64_t minlength = 0);

/// How many elements of x, floating-point and of any shape, are in each of `bins` intervals of
/// equal width from `low` to `high`, as i64 [bins]; an element equal to `high` belongs to the last.
/// Others and NaN do not count. (PyTorch's histc returns x's dtype, and with low = high takes x's
/// range.) No gradient. Throws ValueError unless bins >= 1 and low < high, both finite.
Tensor histc(const Tensor& x, std::int64_t bins, double low, double high);

}  // namespace tapestry
