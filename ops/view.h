// The same numbers under another shape. These share memory with their input wherever strides can
// tell the new order (core/views.h does that part); here the tape learns of it.
//
// All take any dtype. A view and what it views are one memory: a change in place of one shows in
// the other. Gradients are views of the incoming gradient as well, but for slice and expand. Read
// next: view.cpp, the shortest backward rules there are.
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

}  // namespace tapestry
