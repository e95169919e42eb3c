// Sliding windows, of which a convolution, a moving average or n-grams are made.
#pragma once

#include <tapestry/autograd/tape.h>

namespace tapestry {

/// Windows of `size` elements along `axis`, each `step` after the one before (PyTorch's
/// Tensor.unfold): [..., n, ...] -> [..., (n - size) / step + 1, ..., size]. A view of x, whatever
/// windows share. Any dtype. Gradient: g added up over the windows that an element is in. Throws
/// ShapeError unless 1 <= size <= n, ValueError unless step >= 1.
Tensor unfold(const Tensor& x, int axis, std::int64_t size, std::int64_t step = 1);

}  // namespace tapestry
