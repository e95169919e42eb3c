// Matrix products. Operands are read with the strides they have: a transposed view costs nothing.
//
// Both take floating numbers, all operands of one type (DTypeError).
// Read next: ops/kernels/gemm.h, where the time is spent.
#pragma once

#include <tapestry/autograd/tape.h>

namespace tapestry {

/// y[..., m, n] = sum_k a[..., m, k] b[..., k, n], as NumPy's: axes before the last two are a batch
/// and broadcast; a vector [K] stands for a row on the left, for a column on the right, and the
/// axis it was given is taken away again. Gradient: g b^T to a, a^T g to b, summed over broadcast
/// batches. Throws ShapeError when the inner sizes differ, the batches do not broadcast, or an
/// operand is a scalar.
Tensor matmul(const Tensor& a, const Tensor& b);

/// y = x W^T + b for x [..., I], weight W [O, I], bias b [O] or undefined: [..., O]. The weight's
/// layout is PyTorch's. Gradient: g W to x, g^T x to the weight, g summed over rows to the bias.
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias = {});

}  // namespace tapestry
