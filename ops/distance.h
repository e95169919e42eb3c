// Distances and angles between vectors.
#pragma once

#include <tapestry/core/tensor.h>

namespace tapestry {

/// The cosine of the angle between vectors along `axis`, of two tensors of one floating-point dtype
/// whose shapes broadcast: x . y / (max(|x|, eps) max(|y|, eps)); 0 for a vector of zeros. The
/// norms must be in range. Gradient: that of the formula. Throws DTypeError, ShapeError, and
/// ValueError unless eps > 0.
Tensor cosine_similarity(const Tensor& x, const Tensor& y, int axis = -1, double eps = 1e-8);

/// The distance |x_i - y_j|_p of every vector of x [..., P, M] from every one of y [..., R, M]:
/// [..., P, R], with batches broadcast. Takes memory for P R M numbers. Floating-point, of one
/// dtype (DTypeError). Gradient: that of norm(), 0 where a distance is 0. Throws ShapeError for a
/// rank below 2 or other sizes M, ValueError as norm().
Tensor cdist(const Tensor& x, const Tensor& y, double p = 2);

}  // namespace tapestry
