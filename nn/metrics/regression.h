// How well numbers are predicted. `x` is the prediction and `y` the target, of one shape
// (ShapeError), floating-point (DTypeError), computed in double; NaN of no numbers. Definitions are
// scikit-learn's. The losses of ops/loss.h (mse_loss, quantile_loss) are for training.
#pragma once

#include <tapestry/core/tensor.h>

namespace tapestry {

/// The mean of |x - y|.
double mean_absolute_error(const Tensor& x, const Tensor& y);

/// The root of the mean of (x - y)^2.
double root_mean_squared_error(const Tensor& x, const Tensor& y);

/// 1 - sum (x - y)^2 / sum (y - mean y)^2, the share of the variance that is explained: 1 is
/// perfect, 0 is what predicting the mean gives. Where all y are equal: 1 if x equals them, else 0.
double r2_score(const Tensor& x, const Tensor& y);

/// The mean of q d for d = y - x >= 0 and (q - 1) d else (the pinball loss). Throws ValueError
/// unless 0 < q < 1.
double mean_quantile_error(const Tensor& x, const Tensor& y, double q);

}  // namespace tapestry
