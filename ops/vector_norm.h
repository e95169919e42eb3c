// How large a vector is. (layer_norm and rms_norm are in ops/norm.h.)
#pragma once

#include <tapestry/core/tensor.h>

#include <vector>

namespace tapestry {

/// y = (sum_i |x_i|^p)^(1/p) over `axes`, {} being all of them: of all elements as one vector, of
/// rows, or, over two axes with p = 2, of matrices (Frobenius). f32, f64; added up in double.
/// p = inf is the largest |x_i|, -inf the smallest, 0 how many x_i are not 0. Over nothing: 0, and
/// inf for p < 0. Gradient: g x_i |x_i|^(p-2) y^(1-p), taken as 0 where x_i or y is 0; for p = inf
/// and -inf shared among equals; none for p = 0. As PyTorch has all this (linalg.vector_norm).
/// Throws ValueError when p is NaN, ShapeError for an axis outside the rank or named twice, or over
/// nothing with p = inf or -inf.
Tensor norm(const Tensor& x, double p = 2, const std::vector<int>& axes = {}, bool keepdim = false);

}  // namespace tapestry
