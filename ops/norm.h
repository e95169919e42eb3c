// Normalisation over the last axis: every row gets mean 0 and deviation 1, or length 1.
//
// f32 and f64, all tensors of one type (DTypeError); x [..., C], weight and bias [C], either of
// which may be undefined: ones and zeros. Throws ShapeError for a scalar x or another weight shape.
// Read next: norm.cpp; kernels/norm.h has the gradients written out.
#pragma once

#include <tapestry/core/tensor.h>

namespace tapestry {

/// y = (x - mean) / sqrt(var + eps) weight + bias, where mean and var (the biased variance) are
/// those of x's last axis (Ba, Kiros and Hinton, 2016). Gradients: with u the normalised x and h =
/// g weight: dx = (h - mean(h) - u mean(h u)) / sqrt(var + eps), dweight = sum g u over rows, dbias
/// = sum g over rows. Throws ValueError unless eps >= 0.
Tensor layer_norm(const Tensor& x, const Tensor& weight = {}, const Tensor& bias = {},
                  double eps = 1e-5);

/// y = x / sqrt(mean(x^2) + eps) weight (Zhang and Sennrich, 2019). Gradients as for layer_norm,
/// without mean(h).
Tensor rms_norm(const Tensor& x, const Tensor& weight = {}, double eps = 1e-6);

}  // namespace tapestry
