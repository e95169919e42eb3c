// Reading, adding to and setting elements and rows by index.
//
// Indices are i64 (DTypeError) in [0, size). As in PyTorch, negative ones do not count from the
// end, unlike those of x[ids] (subscript.h). An index out of range throws IndexError with its
// position, its value and the axis. The gradient of reading by index is adding by index, and vice
// versa; additions to one element happen in the order of the indices, for any number of threads.
#pragma once

#include <tapestry/autograd/tape.h>
#include <tapestry/ops/subscript.h>

namespace tapestry {

/// y[..., :] = weight[ids[...], :] for weight [V, C] (floating-point) and ids of any shape.
/// Gradient: zeros [V, C] with g added to the rows that were read, except row `padding_idx`.
Tensor embedding(const Tensor& weight, const Tensor& ids);
Tensor embedding(const Tensor& weight, const Tensor& ids, std::int64_t padding_idx);

/// The entries of x at ids [n] along `axis`, a copy; any dtype. Gradient: zeros with g added at
/// these positions.
Tensor index_select(const Tensor& x, int axis, const Tensor& ids);

/// PyTorch's gather: for rank 3 and axis 0, y[i, j, k] = x[ids[i, j, k], j, k]. ids has the rank of
/// x and at most its size on every axis except `axis` (ShapeError); the result has the shape of
/// ids. Any dtype. Gradient: scatter_add(zeros, axis, ids, g).
Tensor gather(const Tensor& x, int axis, const Tensor& ids);

/// PyTorch's scatter_add: a copy of x in which, for rank 3 and axis 0, y[ids[i, j, k], j, k] +=
/// source[i, j, k] for every i, j, k of ids. ids is no larger than source on any axis, nor than x
/// except on `axis` (ShapeError). Floating-point. Gradient: g to x, gather(g, axis, ids) to source.
Tensor scatter_add(const Tensor& x, int axis, const Tensor& ids, const Tensor& source);

/// y[..., c] = 1 where c = ids[...], else 0, for c < classes. Has no gradient.
Tensor one_hot(const Tensor& ids, std::int64_t classes, DType dtype = DType::f32);

// ---- setting elements by index or by position ---------------------------------------------------

/// PyTorch's scatter: a copy of x in which, for rank 3 and axis 0,
/// y[ids[i, j, k], j, k] = source[i, j, k] for every i, j, k of ids, in this order: if several
/// write to one element, the one with the largest i stays. ids is i64 in [0, size) (IndexError), no
/// larger than source on any axis, nor than x except on `axis` (ShapeError). x and source share any
/// dtype. Gradient: to x, g, and 0 where it was replaced; to source, g where its element stayed,
/// else 0.
Tensor scatter(const Tensor& x, int axis, const Tensor& ids, const Tensor& source);
/// The same with one value for all of them. Throws ValueError if the dtype cannot hold it: a
/// fraction for i64, anything but 0 and 1 for bool.
Tensor scatter(const Tensor& x, int axis, const Tensor& ids, double value);

/// What x[{...}] = values would do, as a new tensor: a copy of x in which index(x, where) is
/// `values`, which broadcast to it (ShapeError), or with `accumulate` has them added. If several
/// values go to one element, the last in row-major order stays. x and values share any dtype,
/// floating-point with `accumulate`. Errors in `where` are those of index. Gradient: as for
/// scatter, or scatter_add with `accumulate`.
Tensor index_put(const Tensor& x, const std::vector<Index>& where, const Tensor& values,
                 bool accumulate = false);

}  // namespace tapestry
