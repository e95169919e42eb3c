// Reductions: many numbers to one, over any set of axes.
//
// Every function takes `axes`, which may count from the end; {} means all of them. The reduced axes
// vanish from the result, or stay with size 1 under `keepdim`. Names and meaning follow PyTorch.
// Throws ShapeError for an axis outside the rank or named twice, DTypeError for an element type
// that is not listed. Sums have a fixed order: the same bits for any number of threads.
// Read next: reduce_axes.h (how the work is cut), reduction.cpp and vector_norm.cpp (the rules).
#pragma once

#include <tapestry/core/tensor.h>

#include <vector>

namespace tapestry {

/// y = sum_i x_i. f32 and f64; i64 and bool give i64 (a mask's sum counts). An empty sum is 0.
/// f32 is added pairwise: the rounding grows with log n, not n. Gradient: g for every x_i.
Tensor sum(const Tensor& x, const std::vector<int>& axes = {}, bool keepdim = false);

/// y = sum_i x_i / n. f32, f64. NaN when n = 0, as NumPy's. Gradient: g / n.
Tensor mean(const Tensor& x, const std::vector<int>& axes = {}, bool keepdim = false);

/// y = max_i x_i; NaN if any x_i is. Any dtype. The gradient is shared equally among all x_i that
/// equal the maximum (PyTorch's amax; one element gets all of max_with_indices(), order.h).
/// Throws ShapeError when there is nothing to choose from.
Tensor max(const Tensor& x, const std::vector<int>& axes = {}, bool keepdim = false);

/// y = min_i x_i, otherwise as max.
Tensor min(const Tensor& x, const std::vector<int>& axes = {}, bool keepdim = false);

/// y = sum_i (x_i - mean)^2 / (n - correction). f32, f64. `correction` 1 gives the unbiased
/// estimate (Bessel), 0 the mean square deviation. NaN when n <= correction, as in PyTorch.
/// Gradient: 2 g (x - mean) / (n - correction).
Tensor var(const Tensor& x, const std::vector<int>& axes = {}, int correction = 1,
           bool keepdim = false);

/// The square root of var(), the same otherwise: PyTorch's std, which in C++ is a namespace.
/// Gradient: g (x - mean) / (y (n - correction)), and 0 where y is 0, as in PyTorch.
Tensor stddev(const Tensor& x, const std::vector<int>& axes = {}, int correction = 1,
              bool keepdim = false);

/// Is any x_i other than 0? As bool; any dtype, NaN being other than 0. Of nothing: false. No
/// gradient.
Tensor any(const Tensor& x, const std::vector<int>& axes = {}, bool keepdim = false);

/// Are all x_i other than 0? Of nothing: true. Otherwise as any.
Tensor all(const Tensor& x, const std::vector<int>& axes = {}, bool keepdim = false);

/// y = log sum_i exp(x_i), without overflow: m + log sum_i exp(x_i - m) with m = max_i x_i. f32,
/// f64. -inf when all x_i are -inf or there are none. Gradient: g exp(x - y), and 0 where y is
/// -inf.
Tensor logsumexp(const Tensor& x, const std::vector<int>& axes = {}, bool keepdim = false);

/// The index along `axis` of the largest element, as i64; the first of equals; NaN counts as the
/// largest. Any element type. No gradient. Without an axis PyTorch's is of all elements, which is
/// argmax(flatten(x)) here. Throws ShapeError when the axis is empty.
Tensor argmax(const Tensor& x, int axis = -1, bool keepdim = false);

/// The index of the smallest, the first of equals; a NaN wins here, too. Otherwise as argmax.
Tensor argmin(const Tensor& x, int axis = -1, bool keepdim = false);

/// Undoes broadcasting: x summed over the axes along which `shape` was repeated to x's shape.
/// Throws ShapeError when `shape` does not broadcast to it. f32, f64. Gradient: g, repeated.
Tensor sum_to(const Tensor& x, const Shape& shape);

// ---- how large a vector is ----------------------------------------------------------------------
// layer_norm and rms_norm are in ops/norm.h, prod in ops/scan.h.

/// y = (sum_i |x_i|^p)^(1/p) over `axes`, {} being all of them: of all elements as one vector, of
/// rows, or, over two axes with p = 2, of matrices (Frobenius). f32, f64; added up in double.
/// p = inf is the largest |x_i|, -inf the smallest, 0 how many x_i are not 0. Over nothing: 0, and
/// inf for p < 0. Gradient: g x_i |x_i|^(p-2) y^(1-p), taken as 0 where x_i or y is 0; for p = inf
/// and -inf shared among equals; none for p = 0. As PyTorch has all this (linalg.vector_norm).
/// Throws ValueError when p is NaN, ShapeError for an axis outside the rank or named twice, or over
/// nothing with p = inf or -inf.
Tensor norm(const Tensor& x, double p = 2, const std::vector<int>& axes = {}, bool keepdim = false);

}  // namespace tapestry
