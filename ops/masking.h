// Elements by a mask or by their place: replaced by a constant, found, and taken out.
#pragma once

#include <tapestry/autograd/tape.h>

namespace tapestry {

/// x with `value` wherever mask (bool) is true; the mask broadcasts to the shape of x (ShapeError).
/// Any dtype; throws ValueError for a value that no element can be: a fraction in i64, other than 0
/// and 1 in bool. Gradient: g where the mask is false, else 0.
Tensor masked_fill(const Tensor& x, const Tensor& mask, double value);

/// The lower triangle of each matrix [..., M, N]: x[i, j] where j - i <= diagonal, else 0. Any
/// dtype: tril of a bool tensor of ones is the causal mask. Gradient: tril of g. Throws ShapeError
/// for a rank below 2.
Tensor tril(const Tensor& x, std::int64_t diagonal = 0);

/// The upper triangle: x[i, j] where j - i >= diagonal, else 0.
Tensor triu(const Tensor& x, std::int64_t diagonal = 0);

// ---- where a tensor is true ---------------------------------------------------------------------
// How many elements there are depends on the numbers, so the shape of the result does.

/// The places of elements that are not 0, in row-major order: i64 [n, rank of x], a row for each.
/// Any dtype; NaN is not 0. A constant.
Tensor nonzero(const Tensor& x);

/// The elements of x where mask (bool) is true, in row-major order: [n]. Both broadcast together
/// (ShapeError). Any dtype. Gradient: g at these places, zeros elsewhere; summed over the axes
/// along which x was repeated. (x[mask], in subscript.h, takes rows: its mask may have fewer axes
/// than x.)
Tensor masked_select(const Tensor& x, const Tensor& mask);

}  // namespace tapestry
