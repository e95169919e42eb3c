// Running sums.
#pragma once

#include <tapestry/core/tensor.h>

namespace tapestry {

/// y_i = x_0 + ... + x_i along `axis`, which may count from the end. f32 and f64, added up in
/// double; i64; bool gives i64. Gradient: the running sum of g from the other end. Throws
/// ShapeError for an axis outside the rank.
Tensor cumsum(const Tensor& x, int axis);

}  // namespace tapestry
