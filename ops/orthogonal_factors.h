// Orthogonal factors of one matrix in double, row-major. Internal to ops.
#pragma once

#include <cstdint>
#include <vector>

namespace tapestry::factors {

using Numbers = std::vector<double>;

/// a [M, N] with M >= N becomes q; r [N, N] is upper triangular with a diagonal >= 0. By
/// Householder's reflections.
void qr(Numbers& a, Numbers& r, std::int64_t m, std::int64_t n);

/// Of the symmetric part of a [N, N], which is overwritten: values ascending, vectors [N, N] in
/// columns. By Jacobi's rotations.
void eigh(Numbers& a, Numbers& values, Numbers& vectors, std::int64_t n);

/// u [M, K], s [K] descending, vh [K, N] of a [M, N]. By one-sided Jacobi rotations.
void svd(const Numbers& a, Numbers& u, Numbers& s, Numbers& vh, std::int64_t m, std::int64_t n);

}  // namespace tapestry::factors
