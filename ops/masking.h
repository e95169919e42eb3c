// Some elements replaced by a constant.
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

}  // namespace tapestry
