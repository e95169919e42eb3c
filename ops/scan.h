// Running sums and products along an axis, and products over axes. Gradients of products do not
// divide by x, so they are correct where x has zeros, to any order.
#pragma once

#include <tapestry/core/tensor.h>

#include <vector>

namespace tapestry {

/// y_i = x_0 + ... + x_i along `axis`, which may count from the end. Floating-point, summed in
/// double; i64; bool gives i64. Gradient: the reversed running sum of g. Throws ShapeError for an
/// axis outside the rank.
Tensor cumsum(const Tensor& x, int axis);

/// y_i = x_{i+1} - x_i along `axis`, which may count from the end, `n` times over: one element
/// fewer each time, until there is none. Floating-point or i64. Gradient: g_{i-1} - g_i, n times.
/// Throws ShapeError for an axis outside the rank, ValueError for a negative n.
Tensor diff(const Tensor& x, std::int64_t n = 1, int axis = -1);

/// y = prod_i x_i over `axes`, {} meaning all. Floating-point, multiplied in double; i64, modulo
/// 2^64; bool gives i64. 1 over no elements. Gradient: g times the product of all others. Throws
/// ShapeError for an axis outside the rank or named twice.
Tensor prod(const Tensor& x, const std::vector<int>& axes = {}, bool keepdim = false);

/// y_i = x_0 x_1 ... x_i along `axis`, which may count from the end; dtypes as for prod. Gradient:
/// for x_k, the sum over i >= k of g_i times the product of x_0 ... x_i without x_k. Throws
/// ShapeError for an axis outside the rank.
Tensor cumprod(const Tensor& x, int axis);

}  // namespace tapestry
