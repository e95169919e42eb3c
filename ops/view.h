// Views: the same elements under another shape, diagonals and sliding windows. They share memory
// with their input if strides can express the new order (core/views.h does that part); here they
// are recorded on the tape.
//
// All take any dtype. A view shares memory with its base: an in-place change of either is visible
// in both. Gradients are also views of the incoming gradient, except for slice, expand, diagonal
// and unfold. Read next: view.cpp, the shortest backward rules there are.
#pragma once

#include <tapestry/autograd/tape.h>

#include <vector>

namespace tapestry {

/// x with its elements, in row-major order, arranged as `shape`; one size may be -1 and is
/// inferred. Copies only if the strides of x require it. Gradient: g reshaped back. Throws
/// ShapeError if the numbers of elements differ.
Tensor reshape(const Tensor& x, const Shape& shape);

/// x with two axes exchanged. Gradient: g with the same two exchanged.
Tensor transpose(const Tensor& x, int axis0, int axis1);

/// Axis i of the result is axis order[i] of x. Gradient: g in the inverse order. Throws ShapeError
/// unless `order` names every axis once.
Tensor permute(const Tensor& x, const std::vector<int>& order);

/// Elements start, start + step, ... up to but excluding stop along `axis`, as Python's
/// x[start:stop:step]: negative bounds count from the end, and bounds are clipped. A negative step
/// goes backwards; a stop below -size then includes the first element. index (subscript.h) lets you
/// omit bounds. Gradient: zeros with g at these elements. Throws ValueError for a step of 0.
Tensor slice(const Tensor& x, int axis, std::int64_t start, std::int64_t stop,
             std::int64_t step = 1);

/// x repeated, without a copy, along axes of size 1 and new leading axes. Gradient: g summed over
/// the repeated axes. Throws ShapeError unless x broadcasts to exactly `shape`.
Tensor expand(const Tensor& x, const Shape& shape);

/// x without `axis`. Throws ShapeError unless its size is 1.
Tensor squeeze(const Tensor& x, int axis);

/// x with a new axis of size 1, which becomes axis `axis` of the result (-1: the last).
Tensor unsqueeze(const Tensor& x, int axis);

/// x with axes first .. last merged into one. A scalar becomes [1].
Tensor flatten(const Tensor& x, int first = 0, int last = -1);

/// x itself if it is in memory in row-major order without gaps, else a copy that is. Gradient: g.
Tensor contiguous(const Tensor& x);

// ---- diagonals and windows ----------------------------------------------------------------------
// trace, the sum of a diagonal, is in matmul.h. Windows serve for convolutions, moving averages and
// n-grams.

/// x[..., i, ..., i + offset, ...] for every valid i, with `axis0` and `axis1` the rows and
/// columns. Both are removed; i becomes the last axis of the result. A view. Any dtype. Gradient: g
/// there, zeros elsewhere. Throws ShapeError if the axes are the same.
Tensor diagonal(const Tensor& x, std::int64_t offset = 0, int axis0 = 0, int axis1 = 1);

/// For a matrix, its diagonal, as `diagonal`; for a vector [n] it returns the square matrix of side
/// n + |offset| that has it as this diagonal and zeros elsewhere. Gradient: each is the other's.
/// Throws ShapeError for another rank.
Tensor diag(const Tensor& x, std::int64_t offset = 0);

/// Windows of `size` elements along `axis`, `step` apart (PyTorch's Tensor.unfold):
/// [..., n, ...] -> [..., (n - size) / step + 1, ..., size]. A view of x, even where windows
/// overlap. Any dtype. Gradient: g summed over the windows that contain an element. Throws
/// ShapeError unless 1 <= size <= n, ValueError unless step >= 1.
Tensor unfold(const Tensor& x, int axis, std::int64_t size, std::int64_t step = 1);

}  // namespace tapestry
