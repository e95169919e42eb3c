// Matrix products, also under their familiar names. Operands are read with their own strides: a
// transposed view costs nothing.
//
// All operands are floating-point and share a dtype (DTypeError).
// Read next: ops/kernels/gemm.h, where the time is spent; einsum.h.
#pragma once

#include <tapestry/autograd/tape.h>

#include <vector>

namespace tapestry {

/// y[..., m, n] = sum_k a[..., m, k] b[..., k, n], as in NumPy: axes before the last two are a
/// batch and broadcast; a vector [K] is a row on the left and a column on the right, and the added
/// axis is removed from the result. Gradient: g b^T to a, a^T g to b, summed over broadcast
/// batches. Throws ShapeError if the inner sizes differ, the batches do not broadcast, or an
/// operand is a scalar.
Tensor matmul(const Tensor& a, const Tensor& b);

/// y = x W^T + b for x [..., I], weight W [O, I], bias b [O] or undefined: [..., O]. The weight has
/// PyTorch's layout. Gradient: g W to x, g^T x to the weight, g summed over rows to the bias.
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias = {});

// ---- by name ------------------------------------------------------------------------------------
// matmul() covers mm, mv, bmm and dot; these check that the shapes are the ones meant.

/// Product of two matrices: [M, K] x [K, N] -> [M, N]. Gradient: g b^T, a^T g. Throws ShapeError
/// unless both have two axes and the inner sizes agree.
Tensor mm(const Tensor& a, const Tensor& b);

/// Product of a matrix and a vector: [M, K] x [K] -> [M]. Otherwise as mm.
Tensor mv(const Tensor& a, const Tensor& x);

/// Batched product: [B, M, K] x [B, K, N] -> [B, M, N]; the batch does not broadcast. Otherwise as
/// mm.
Tensor bmm(const Tensor& a, const Tensor& b);

/// sum_i x_i y_i of two vectors of one size (ShapeError): a scalar. Gradient: g y, g x.
Tensor dot(const Tensor& x, const Tensor& y);

/// y[i, j] = a[i] b[j] of two vectors (ShapeError otherwise). Gradient: g b, g^T a.
Tensor outer(const Tensor& a, const Tensor& b);

/// The sum of the diagonal of each matrix: [..., N, N] -> [...]. Gradient: g on the diagonal.
/// Throws ShapeError unless the matrices are square.
Tensor trace(const Tensor& x);

/// Sums products over the last `axes` axes of a and the first `axes` of b: [I..., K...] x
/// [K..., J...] -> [I..., J...]. 1 gives the matrix product, 0 the outer product. Gradient and
/// dtypes as for einsum. Throws ShapeError if sizes differ, ValueError unless 0 <= axes <= both
/// ranks.
Tensor tensordot(const Tensor& a, const Tensor& b, int axes = 2);

/// The same over pairs of axes, a_axes[i] of a with b_axes[i] of b, which may count from the end.
/// Also throws ShapeError for an axis named twice or outside the rank.
Tensor tensordot(const Tensor& a, const Tensor& b, const std::vector<int>& a_axes,
                 const std::vector<int>& b_axes);

}  // namespace tapestry
