// Running sums and products along an axis, and products over axes. No rule of a product divides by
// x: a product of others is the product of others, and gradients are right where there are zeros,
// to any order.
#pragma once

#include <tapestry/core/tensor.h>

#include <vector>

namespace tapestry {

/// y_i = x_0 + ... + x_i along `axis`, which may count from the end. f32 and f64, added up in
/// double; i64; bool gives i64. Gradient: the running sum of g from the other end. Throws
/// ShapeError for an axis outside the rank.
Tensor cumsum(const Tensor& x, int axis);

/// y = prod_i x_i over `axes`, {} being all. f32 and f64, multiplied in double; i64, modulo 2^64;
/// bool gives i64. Of nothing: 1. Gradient: g times the product of all others. Throws ShapeError
/// for an axis outside the rank or named twice.
Tensor prod(const Tensor& x, const std::vector<int>& axes = {}, bool keepdim = false);

/// y_i = x_0 x_1 ... x_i along `axis`, which may count from the end; dtypes as for prod. Gradient:
/// to x_k the sum over i >= k of g_i times the product of all x_0 ... x_i but x_k. Throws
/// ShapeError for an axis outside the rank.
Tensor cumprod(const Tensor& x, int axis);

}  // namespace tapestry
