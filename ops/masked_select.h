// Where a tensor is true, and the elements that are there. How many there are depends on the
// numbers, so the shape of the result does.
#pragma once

#include <tapestry/autograd/tape.h>

namespace tapestry {

/// The places of elements that are not 0, in row-major order: i64 [n, rank of x], a row for each.
/// Any dtype; NaN is not 0. A constant.
Tensor nonzero(const Tensor& x);

/// The elements of x where mask (bool) is true, in row-major order: [n]. Both broadcast together
/// (ShapeError). Any dtype. Gradient: g at these places, zeros elsewhere; summed over the axes
/// along which x was repeated. (x[mask], in subscript.h, takes rows: its mask may have fewer axes
/// than x.)
Tensor masked_select(const Tensor& x, const Tensor& mask);

}  // namespace tapestry
