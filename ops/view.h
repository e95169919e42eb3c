// The same numbers under another shape, their diagonals and sliding windows. These share memory
// with their input wherever strides can tell the new order (core/views.h does that part); here the
// tape learns of it.
//
// All take any dtype. A view and what it views are one memory: a change in place of one shows in
// the other. Gradients are views of the incoming gradient as well, but for slice, expand,
// diagonal and unfold. Read next: view.cpp, the shortest backward rules there are.
#pragma once

#include <tapestry/autograd/tape.h>

#include <vector>

namespace tapestry {

/// x, its elements in row-major order laid out as `shape`, in which one size may be -1: whatever is
/// left. Copies only where the strides of x leave no other way. Gradient: g reshaped back. Throws
/// ShapeError when the numbers of elements differ.
Tensor reshape(const Tensor& x, const Shape& shape);

/// x with two axes exchanged. Gradient: g with the same two exchanged.
Tensor transpose(const Tensor& x, int axis0, int axis1);

/// Axis i of the result is axis order[i] of x. Gradient: g in the inverse order. Throws ShapeError
/// unless `order` names every axis once.
Tensor permute(const Tensor& x, const std::vector<int>& order);

/// Elements start, start + step, ... up to but without stop along `axis`, as Python's
/// x[start:stop:step]: bounds count from the end when negative and are clipped. A negative step
/// walks backwards, and with a stop below -size comes to the first element; index (subscript.h)
/// lets bounds be left out. Gradient: g at these places of a tensor of zeros. Throws ValueError for
/// a step of 0.
Tensor slice(const Tensor& x, int axis, std::int64_t start, std::int64_t stop,
             std::int64_t step = 1);

/// x repeated, without copying it, along axes of size 1 and along new leading ones. Gradient: g
/// summed over the repeated axes. Throws ShapeError unless x broadcasts to exactly `shape`.
Tensor expand(const Tensor& x, const Shape& shape);

/// x without `axis`. Throws ShapeError unless its size is 1.
Tensor squeeze(const Tensor& x, int axis);

/// x with a new axis of size 1, which becomes axis `axis` of the result (-1: the last).
Tensor unsqueeze(const Tensor& x, int axis);

/// x with axes first .. last made one. A scalar becomes [1].
Tensor flatten(const Tensor& x, int first = 0, int last = -1);

/// x if it lies in memory in row-major order without gaps, else a copy that does. Gradient: g.
Tensor contiguous(const Tensor& x);

// ---- diagonals and windows ----------------------------------------------------------------------
// trace, the sum of a diagonal, is among the products (matmul.h). Of windows a convolution, a
// moving average or n-grams are made.

/// x[..., i, ..., i + offset, ...] for every such i, `axis0` and `axis1` being the rows and
/// columns; both vanish, the last axis of the result counts i. A view. Any dtype. Gradient: g
/// there, zeros elsewhere. Throws ShapeError where the axes are one.
Tensor diagonal(const Tensor& x, std::int64_t offset = 0, int axis0 = 0, int axis1 = 1);

/// Of a matrix its diagonal, as `diagonal`; of a vector [n] the square matrix of side n + |offset|
/// that has it as this diagonal, and zeros elsewhere. Gradient: each is the other's. Throws
/// ShapeError for another rank.
Tensor diag(const Tensor& x, std::int64_t offset = 0);

/// Windows of `size` elements along `axis`, each `step` after the one before (PyTorch's
/// Tensor.unfold): [..., n, ...] -> [..., (n - size) / step + 1, ..., size]. A view of x, whatever
/// windows share. Any dtype. Gradient: g added up over the windows that an element is in. Throws
/// ShapeError unless 1 <= size <= n, ValueError unless step >= 1.
Tensor unfold(const Tensor& x, int axis, std::int64_t size, std::int64_t step = 1);

}  // namespace tapestry
