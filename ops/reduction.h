// Reductions over any set of axes.
//
// Every function takes `axes`, which may count from the end; {} means all. The reduced axes are
// removed or, with `keepdim`, kept with size 1. Names and semantics follow PyTorch. Throws
// ShapeError for an axis outside the rank or named twice, DTypeError for a dtype that is not
// listed. Sums have a fixed order: the same bits for any number of threads.
// Read next: reduce_axes.h (how the work is cut), reduction.cpp and vector_norm.cpp (the rules).
#pragma once

#include <tapestry/core/tensor.h>

#include <vector>

namespace tapestry {

/// y = sum_i x_i. Floating-point; i64 and bool give i64 (the sum of a mask is a count). An empty
/// sum is 0. f32 is summed pairwise: the rounding error grows with log n, not n. Gradient: g for
/// every x_i.
Tensor sum(const Tensor& x, const std::vector<int>& axes = {}, bool keepdim = false);

/// y = sum_i x_i / n. Floating-point; in range even if the sum is not. NaN when n = 0, as in NumPy.
/// Gradient: g / n.
Tensor mean(const Tensor& x, const std::vector<int>& axes = {}, bool keepdim = false);

/// y = max_i x_i; NaN if any x_i is. Any dtype. The gradient is shared equally among all x_i that
/// equal the maximum (PyTorch's amax; for max_with_indices(), in order.h, one element gets all of
/// it). Throws ShapeError if there is nothing to choose from.
Tensor max(const Tensor& x, const std::vector<int>& axes = {}, bool keepdim = false);

/// y = min_i x_i, otherwise as max.
Tensor min(const Tensor& x, const std::vector<int>& axes = {}, bool keepdim = false);

/// y = sum_i (x_i - mean)^2 / (n - correction). Floating-point. `correction` 1 gives the unbiased
/// estimate (Bessel), 0 the mean square deviation. NaN when n <= correction, as in PyTorch.
/// Gradient: 2 g (x - mean) / (n - correction).
Tensor var(const Tensor& x, const std::vector<int>& axes = {}, int correction = 1,
           bool keepdim = false);

/// The square root of var(), otherwise the same: PyTorch's std, which in C++ is a namespace.
/// Gradient: g (x - mean) / (y (n - correction)), and 0 where y is 0, as in PyTorch.
Tensor stddev(const Tensor& x, const std::vector<int>& axes = {}, int correction = 1,
              bool keepdim = false);

/// True if any x_i is nonzero, as bool. Any dtype; NaN is nonzero. False over no elements. No
/// gradient.
Tensor any(const Tensor& x, const std::vector<int>& axes = {}, bool keepdim = false);

/// True if all x_i are nonzero. True over no elements. Otherwise as any.
Tensor all(const Tensor& x, const std::vector<int>& axes = {}, bool keepdim = false);

/// How many x_i are nonzero, as i64. Any dtype; NaN is nonzero. No gradient.
Tensor count_nonzero(const Tensor& x, const std::vector<int>& axes = {}, bool keepdim = false);

/// y = log sum_i exp(x_i), without overflow: m + log sum_i exp(x_i - m) with m = max_i x_i.
/// Floating-point. -inf when all x_i are -inf or there are none. Gradient: g exp(x - y), and 0
/// where y is -inf.
Tensor logsumexp(const Tensor& x, const std::vector<int>& axes = {}, bool keepdim = false);

/// The index along `axis` of the largest element, as i64; the first of equals; NaN counts as the
/// largest. Any dtype. No gradient. For PyTorch's argmax without an axis, over all elements, use
/// argmax(flatten(x)). Throws ShapeError if the axis is empty.
Tensor argmax(const Tensor& x, int axis = -1, bool keepdim = false);

/// The index of the smallest, the first of equals; NaN also wins here. Otherwise as argmax.
Tensor argmin(const Tensor& x, int axis = -1, bool keepdim = false);

/// The adjoint of broadcasting: x summed over the axes along which `shape` was repeated to x's
/// shape. Throws ShapeError if `shape` does not broadcast to it. Floating-point. Gradient: g,
/// broadcast.
Tensor sum_to(const Tensor& x, const Shape& shape);

// ---- vector norms -------------------------------------------------------------------------------
// layer_norm and rms_norm are in ops/norm.h, prod in ops/scan.h.

/// y = (sum_i |x_i|^p)^(1/p) over `axes`, {} meaning all: the norm of all elements as one vector,
/// of rows, or, over two axes with p = 2, of matrices (Frobenius). Floating-point; summed in
/// double, and scaled if powers leave its range. p = inf gives the largest |x_i|, -inf the
/// smallest, 0 the number of nonzero x_i. Over no elements: 0, and inf for p < 0. Gradient: g x_i
/// |x_i|^(p-2) y^(1-p), 0 where x_i or y is 0; for p = inf and -inf shared among equals; none for p
/// = 0. All as in PyTorch (linalg.vector_norm). Throws ValueError if p is NaN, ShapeError for an
/// axis outside the rank or named twice, or over no elements with p = inf or -inf.
Tensor norm(const Tensor& x, double p = 2, const std::vector<int>& axes = {}, bool keepdim = false);

}  // namespace tapestry
