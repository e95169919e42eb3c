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
/// matrix the symmetric part (a + a^T) / 2 counts. Gradient: the symmetric part of L^-T P(L^T g)
/// L^-1, where P takes the lower triangle and halves the diagonal. Throws ValueError for a matrix
/// that is not positive definite, with its position in the batch. Source: Murray 2016,
/// "Differentiation of the Cholesky decomposition".
Tensor cholesky(const Tensor& a);

// ---- orthogonal factors -------------------------------------------------------------------------
// Computed in double by reflections and rotations. Gradients of nearly equal values and of nearly
// dependent columns are large and not accurate; exactly equal ones throw, as said. Matrices of
// any shape [..., M, N] for qr and svd. Results are unique, so signs may differ from LAPACK's.

/// The result of qr(), with K = min(M, N).
struct QrFactors {
    Tensor q;  ///< [..., M, K], orthonormal columns
    Tensor r;  ///< [..., K, N], upper triangular, no diagonal entry below 0
};

/// a = q r. Gradient of M >= N: (g_q + q S(r g_r^T - g_q^T q)) r^-T, where S mirrors the lower
/// triangle; throws ValueError if the columns are linearly dependent, or numbers not finite. For M
/// < N the same of the first M columns. Source: Walter and Lehmann 2010, "Algorithmic
/// Differentiation of Linear Algebra Functions".
QrFactors qr(const Tensor& a);

/// The result of eigh().
struct EighFactors {
    Tensor values;  ///< [..., N], ascending
    Tensor
        vectors;  ///< [..., N, N], in columns, orthonormal; the largest entry of each is positive
};

/// Eigenvalues and eigenvectors of symmetric matrices, a = v diag(w) v^T; of another matrix the
/// symmetric part counts. Gradient: v (diag(g_w) + F * v^T g_v) v^T, symmetric, with F_ij =
/// 1 / (w_j - w_i). That of the vectors exists for distinct eigenvalues only (else ValueError),
/// that of the values always: of equal ones, it follows the vectors that were chosen. Throws
/// ValueError for numbers that are not finite. Source: Jacobi 1846; gradient: Giles 2008,
/// "Collected Matrix Derivative Results".
EighFactors eigh(const Tensor& a);

/// The result of svd(), with K = min(M, N).
struct SvdFactors {
    Tensor u;   ///< [..., M, K], orthonormal columns; the largest entry of each is positive
    Tensor s;   ///< [..., K], descending, not negative
    Tensor vh;  ///< [..., K, N], orthonormal rows
};

/// Singular values and vectors, a = u diag(s) vh. Gradient: u (E * (u^T g_u - g_u^T u) s + s E *
/// (v^T g_v - g_v^T v) + diag(g_s)) vh with E_ij = 1 / (s_j^2 - s_i^2), and for M != N the part of
/// g_u or g_v outside, divided by s. That of u and vh exists for distinct values, and for M != N
/// positive ones (else ValueError); that of s always. Throws ValueError for numbers that are not
/// finite. Source: Hestenes 1958, "Inversion of Matrices by Biorthogonalization"; gradient: as for
/// eigh.
SvdFactors svd(const Tensor& a);

/// log det a, without overflow of the determinant; -inf for a singular a, NaN if the determinant is
/// negative. Gradient: g a^-T, which throws ValueError for a singular a.
Tensor logdet(const Tensor& a);

}  // namespace tapestry
