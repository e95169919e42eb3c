// Replacing, finding and selecting elements by a mask or by position.
#pragma once

#include <tapestry/autograd/tape.h>

namespace tapestry {

/// x with `value` where mask (bool) is true; the mask broadcasts to the shape of x (ShapeError).
/// Any dtype; throws ValueError for a value that the dtype cannot hold: a fraction for i64,
/// anything but 0 and 1 for bool. Gradient: g where the mask is false, else 0.
Tensor masked_fill(const Tensor& x, const Tensor& mask, double value);

/// The lower triangle of each matrix [..., M, N]: x[i, j] where j - i <= diagonal, else 0. Any
/// dtype: tril of a bool tensor of ones is the causal mask. Gradient: tril of g. Throws ShapeError
/// for a rank below 2.
Tensor tril(const Tensor& x, std::int64_t diagonal = 0);

/// The upper triangle: x[i, j] where j - i >= diagonal, else 0.
Tensor triu(const Tensor& x, std::int64_t diagonal = 0);

// ---- results whose size depends on the data -----------------------------------------------------

/// The indices of nonzero elements, in row-major order: i64 [n, rank of x], one row per element.
/// Any dtype; NaN is nonzero. Has no gradient.
Tensor nonzero(const Tensor& x);

/// The elements of x where mask (bool) is true, in row-major order: [n]. Both broadcast together
/// (ShapeError). Any dtype. Gradient: g at these elements, zeros elsewhere; summed over the axes
/// along which x was repeated. (For a mask with fewer axes than x, which selects rows, see x[mask]
/// in subscript.h.)
Tensor masked_select(const Tensor& x, const Tensor& mask);

}  // namespace tapestry
