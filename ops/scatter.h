// Elements set by number or by position; indexing.h has the scatter that adds.
#pragma once

#include <tapestry/ops/subscript.h>

namespace tapestry {

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
