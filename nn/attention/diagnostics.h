// Measures of attention heads: whether they find different things, and where they look.
//
// Inputs are constants, as in an AttentionRecord: heads [B, H, T, D], weights [B, H, T, S], f32 or
// f64 (DTypeError; ShapeError for another rank). Results are f64 constants. Computed in double, not
// optimised for speed.
#pragma once

#include <tapestry/core/tensor.h>

namespace tapestry {

/// The min(M, N) singular values of each matrix of x [..., M, N], descending: [..., min(M, N)].
/// They are the square roots of the eigenvalues of the smaller of x x^T and x^T x, computed by
/// Jacobi rotations, so values below 1e-8 times the largest are lost in roundoff; NaN for a matrix
/// that is not finite. Source: Golub and Van Loan, "Matrix Computations", section 8.5 (cyclic
/// Jacobi).
Tensor singular_values(const Tensor& x);

/// Effective rank of each head's output: the number of singular values of its [T, D] above
/// `threshold` times the largest, i64 [B, H]. The default is well above the roundoff of f32 and of
/// the method. 0 for a head whose output is zero or not finite. Throws ValueError unless 1e-8 <=
/// threshold < 1.
Tensor head_rank(const Tensor& heads, double threshold = 1e-4);

/// Similarity of heads: cos(i, j) = <h_i, h_j> / (|h_i| |h_j|) of outputs h [T, D] taken as
/// vectors, [B, H, H], symmetric, 1 on the diagonal; 0 for a head whose output is zero.
Tensor head_similarity(const Tensor& heads);

/// Entropy -sum_j p_j ln p_j of a query's weights p, in nats, from 0 (one key) to ln S (uniform);
/// the mean over queries and sequences for each head, [H]. Skips queries that see nothing (weights
/// 0); NaN if there are no others.
Tensor attention_entropy(const Tensor& weights);

/// Distance sum_j p_j |i - j| at which a query at position i looks: the mean over queries and
/// sequences for each head, [H]. With T < S, queries are the last positions. Skips the same queries
/// as attention_entropy().
Tensor attention_distance(const Tensor& weights);

}  // namespace tapestry
