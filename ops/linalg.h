// Systems of linear equations, inverses and determinants, for matrices of a few hundred rows.
//
// All take floating-point (DTypeError) square matrices [..., N, N] in batches of any shape
// (ShapeError). A matrix is singular if elimination finds no nonzero pivot; a nearly singular one
// gives large numbers, as in LAPACK. Read next: linalg.cpp, whose LU factors all of these use.
#pragma once

#include <tapestry/core/tensor.h>

namespace tapestry {

/// Solves a x = b for x, by LU with partial pivoting. b is [..., N, K], with its batch broadcast
/// against a's, or one vector [N], treated as a column; x is then a vector per matrix. Gradient:
/// a^-T g to b, and -(a^-T g) x^T to a. Throws ShapeError if the sizes do not fit, ValueError for a
/// singular a, with its position in the batch.
Tensor solve(const Tensor& a, const Tensor& b);

/// a^-1; solve(a, b) is faster and more accurate than inverse(a) times b. Gradient: -y^T g y^T.
/// Throws ValueError for a singular a, with its position in the batch.
Tensor inverse(const Tensor& a);

/// The determinant of each matrix: [..., N, N] -> [...]; 1 for N = 0. Gradient: g adj(a)^T, the
/// cofactors, which is g y a^-T for a regular a, has rank 1 if a has rank N - 1, and is 0 below.
Tensor det(const Tensor& a);

/// The lower triangular L with L L^T = a for symmetric, positive definite matrices; of another
/// matrix the symmetric part (a + a^T) / 2 counts. Gradient: L^-T P(L^T g) L^-1, symmetric, where P
/// takes the lower triangle and halves the diagonal. Throws ValueError for a matrix that is not
/// positive definite, with its position in the batch. Source: Murray 2016, "Differentiation of the
/// Cholesky decomposition".
Tensor cholesky(const Tensor& a);

/// log det a, without overflow of the determinant; -inf for a singular a, NaN if the determinant is
/// negative. Gradient: g a^-T, which throws ValueError for a singular a.
Tensor logdet(const Tensor& a);

}  // namespace tapestry
