// Order along an axis: a few of each line and where they stood, whole lines sorted, quantiles; and
// which values occur in a tensor.
//
// Any dtype, unless said. The axis may count from the end. NaN is larger than every number, as in
// PyTorch; false is less than true. Of equal elements the one with the lower index comes first,
// ascending or descending: every order is stable. Indices are constants; values are taken by
// gather(), so that each passes its gradient to the element that it is. Throws ShapeError for an
// axis outside the rank, as every axis is for a scalar, when there is nothing to choose from, and
// for an axis of 2^32 elements. Read next: order_rows.h (how a row is gone through).
#pragma once

#include <tapestry/core/tensor.h>

#include <vector>

namespace tapestry {

/// Elements of a tensor and their places along an axis (i64), both of one shape:
///     const auto [values, indices] = topk(logits, 5);
struct Selection {
    Tensor values;   ///< the elements
    Tensor indices;  ///< i64: where each was on the axis
};

/// The k largest of each line, the largest first, or the k smallest, the smallest first: axis
/// `axis` of both results has k elements. Nothing else is put in order: time grows with the size of
/// x, and with k log k. Throws ShapeError when k is larger than the axis, ValueError when negative.
Selection topk(const Tensor& x, std::int64_t k, int axis = -1, bool largest = true);

/// The k-th smallest of each line, k = 1 being the smallest; the axis vanishes or stays with
/// size 1. Throws ShapeError unless 1 <= k <= the axis' size.
Selection kthvalue(const Tensor& x, std::int64_t k, int axis = -1, bool keepdim = false);

/// The middle of each line, of an even number the lower of two (as PyTorch; quantile() with q = 1/2
/// takes the mean of both). A line with a NaN gives NaN, at the first one's index.
Selection median(const Tensor& x, int axis, bool keepdim = false);
/// The same of all elements together: rank 0. The gradient goes to one element.
Tensor median(const Tensor& x);

/// The largest of each line and where it stands first: PyTorch's max(x, dim), whose name would not
/// tell max(x, 1) from max(x, {1}). The first NaN, if there is one. The gradient goes to that one
/// element, where max() shares it among equals.
Selection max_with_indices(const Tensor& x, int axis, bool keepdim = false);
/// The smallest, otherwise as max_with_indices: a NaN wins here as well.
Selection min_with_indices(const Tensor& x, int axis, bool keepdim = false);

// ---- whole lines --------------------------------------------------------------------------------

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

// ---- which values occur, and how often ----------------------------------------------------------

/// The n different values of a tensor.
struct Unique {
    Tensor values;   ///< [n], ascending
    Tensor inverse;  ///< i64, of x's shape: x = values[inverse]
    Tensor counts;   ///< i64 [n]: how many elements of x each is
};

/// Any dtype. NaN is a value like others, the last one, and equal to itself, as in NumPy (PyTorch
/// lists each NaN); 0 and -0 are equal. Constants: no gradient flows. Throws ShapeError for 2^32
/// elements and more.
Unique unique(const Tensor& x);

/// y[v] = how many of x (i64) are v, as i64 [n]: n is the largest of x plus 1, and at least
/// `minlength`. Unlike PyTorch's, x may have any shape; for weights see scatter_add. Throws
/// DTypeError, and ValueError for a negative minlength or an element outside [0, 2^48).
Tensor bincount(const Tensor& x, std::int64_t minlength = 0);

}  // namespace tapestry
