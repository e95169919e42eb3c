// Systems of linear equations, inverses and determinants, for matrices of a few hundred rows.
//
// All take floating numbers (DTypeError), square matrices [..., N, N] in batches of any shape
// (ShapeError). A matrix without a pivot is singular; one that merely comes close to it gives large
// numbers, as in LAPACK. Read next: linalg.cpp, whose LU factors all of
// these are made of.
#pragma once

#include <tapestry/core/tensor.h>

namespace tapestry {

/// The x with a x = b, by LU with partial pivoting. b is [..., N, K], its batch broadcast with a's,
/// or one vector [N], which is a column and gives vectors. Gradient: a^-T g to b, and -(a^-T g) x^T
/// to a. Throws ShapeError when the sizes do not fit, ValueError for a singular a, with its place
/// in the batch.
Tensor solve(const Tensor& a, const Tensor& b);

/// a^-1; solve(a, b) is faster and more accurate than inverse(a) times b. Gradient: -y^T g y^T.
/// Throws ValueError for a singular a, with its place in the batch.
Tensor inverse(const Tensor& a);

/// The determinant of each matrix: [..., N, N] -> [...]; 1 for N = 0. Gradient: g y a^-T, which
/// throws ValueError for a singular a.
Tensor det(const Tensor& a);

/// log det a, where the determinant itself may be too large for its type; -inf for a singular a,
/// NaN where the determinant is negative. Gradient: g a^-T, which throws ValueError for a singular
/// a.
Tensor logdet(const Tensor& a);

}  // namespace tapestry
