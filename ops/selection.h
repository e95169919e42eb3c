// A few of each line along an axis: which they are, and where they stood.
//
// Any dtype. The axis may count from the end. NaN is larger than every number, as in PyTorch. Of
// equal elements the one with the lower index is taken first. Indices are constants; values are
// taken by gather(), so that each passes its gradient to the element that it is. Throws ShapeError
// for an axis outside the rank, as every axis is for a scalar, when there is nothing to choose
// from, and for an axis of 2^32 elements. Read next: order.h (whole lines in order), order_rows.h
// (how a row is gone through).
#pragma once

#include <tapestry/core/tensor.h>

namespace tapestry {

/// Elements of a tensor and their places along an axis (i64), both of one shape:
///     const auto [values, indices] = topk(logits, 5);
struct Selection {
    Tensor values;
    Tensor indices;
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

}  // namespace tapestry
