// The diagonals of matrices. trace, their sum, is among the products (products.h).
#pragma once

#include <tapestry/autograd/tape.h>

namespace tapestry {

/// x[..., i, ..., i + offset, ...] for every such i, `axis0` and `axis1` being the rows and
/// columns; both vanish, the last axis of the result counts i. A view. Any dtype. Gradient: g
/// there, zeros elsewhere. Throws ShapeError where the axes are one.
Tensor diagonal(const Tensor& x, std::int64_t offset = 0, int axis0 = 0, int axis1 = 1);

/// Of a matrix its diagonal, as `diagonal`; of a vector [n] the square matrix of side n + |offset|
/// that has it as this diagonal, and zeros elsewhere. Gradient: each is the other's. Throws
/// ShapeError for another rank.
Tensor diag(const Tensor& x, std::int64_t offset = 0);

}  // namespace tapestry
