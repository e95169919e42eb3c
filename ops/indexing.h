// Elements and rows chosen by number: read, added to, and set.
//
// Indices are i64 (DTypeError) and lie in [0, size): as in PyTorch they do not count from the end,
// which those of x[ids] may (subscript.h). One outside throws IndexError, which tells where it
// stands, what it is, and which axis it is outside of. What reads by index has a gradient that adds
// by index, and the other way round; additions to one place happen in the order of the indices,
// with any number of threads.
#pragma once

#include <tapestry/autograd/tape.h>
#include <tapestry/ops/subscript.h>

namespace tapestry {

/// y[..., :] = weight[ids[...], :] for weight [V, C] (floating numbers), ids of any shape.
/// Gradient: row by row, g added to the rows of zeros [V, C] that were read.
Tensor embedding(const Tensor& weight, const Tensor& ids);

/// x at positions ids [n] along `axis`, a copy; any dtype. Gradient: g added to zeros at these
/// positions.
Tensor index_select(const Tensor& x, int axis, const Tensor& ids);

/// PyTorch's gather: along axis 0 of three, y[i, j, k] = x[ids[i, j, k], j, k]. ids has the rank of
/// x and at most its size on every axis but `axis` (ShapeError); the result has the shape of ids.
/// Any dtype. Gradient: scatter_add(zeros, axis, ids, g).
Tensor gather(const Tensor& x, int axis, const Tensor& ids);

/// PyTorch's scatter_add: a copy of x in which, along axis 0 of three,
/// y[ids[i, j, k], j, k] += source[i, j, k] for every i, j, k of ids. ids is nowhere larger than
/// source, nor, but for `axis`, than x (ShapeError). floating numbers. Gradient: g to x,
/// gather(g, axis, ids) to source.
Tensor scatter_add(const Tensor& x, int axis, const Tensor& ids, const Tensor& source);

/// y[..., c] = 1 where c = ids[...], else 0, for c < classes. A constant.
Tensor one_hot(const Tensor& ids, std::int64_t classes, DType dtype = DType::f32);

// ---- elements set by number or by position ------------------------------------------------------

/// PyTorch's scatter: a copy of x in which, along axis 0 of three, y[ids[i, j, k], j, k] =
/// source[i, j, k] for every i, j, k of ids, in this order: of several for one place the one with
/// the largest i stays. ids is i64 and nowhere larger than source, nor, but for `axis`, than x
/// (ShapeError); numbers lie in [0, size) (IndexError). Any dtype, both the same. Gradient: to x g,
/// but 0 where it was replaced; to source g from where it stayed, else 0.
Tensor scatter(const Tensor& x, int axis, const Tensor& ids, const Tensor& source);
/// The same with one value for all of them. Throws ValueError for one that no element can be: a
/// fraction in i64, other than 0 and 1 in bool.
Tensor scatter(const Tensor& x, int axis, const Tensor& ids, double value);

/// What x[{...}] = values would do, as a tensor of its own: a copy of x in which index(x, where) is
/// `values`, which broadcast to it (ShapeError); or, with `accumulate`, in which they were added
/// there. Of several values for one element the last in row-major order stays. Any dtype, both the
/// same; added floating numbers. Errors of `where` are index's. Gradient: scatter's, scatter_add's.
Tensor index_put(const Tensor& x, const std::vector<Index>& where, const Tensor& values,
                 bool accumulate = false);

}  // namespace tapestry
