// Softmax and log-softmax along one axis.
//
// Both take floating-point (DTypeError) of any shape; `axis` may count from the end (ShapeError
// outside the rank).
// Read next: softmax.cpp, and kernels/softmax.cpp for the loops.
#pragma once

#include <tapestry/core/tensor.h>

namespace tapestry {

/// y_i = exp(x_i - m) / sum_j exp(x_j - m), m = max_j x_j: subtracting m changes nothing but keeps
/// exp from overflowing. Where every x_i is -inf, as for a query whose keys are all masked, y is 0
/// (PyTorch: NaN). Gradient: y_i (g_i - sum_j g_j y_j).
Tensor softmax(const Tensor& x, int axis = -1);

/// y_i = x_i - m - log sum_j exp(x_j - m) = log softmax(x)_i; accurate where the softmax
/// underflows. -inf where every x_i is. Gradient: g_i - exp(y_i) sum_j g_j.
Tensor log_softmax(const Tensor& x, int axis = -1);

}  // namespace tapestry
