// P A = L U: what systems are solved with, and determinants read from. Internal to ops.
//
// Source: Golub and Van Loan, "Matrix Computations", 3.4: Gaussian elimination with partial
// pivoting, row by row.
#pragma once

#include <tapestry/core/tensor.h>

#include <string_view>

namespace tapestry {

struct LuFactors {
    Tensor lu;      ///< [..., N, N]: U, and below its diagonal L, whose diagonal is 1
    Tensor pivots;  ///< [..., N] i64: row k was exchanged with row pivots[k] >= k, in this order
};

/// Of each matrix of a [..., N, N], f32 or f64. A column without a pivot leaves 0 on the diagonal.
LuFactors factorize(const Tensor& a);

/// Throws ValueError, in the name of `op`, for the first matrix that has no inverse.
void check_regular(std::string_view op, const LuFactors& factors);

/// x [..., N, K], dense, becomes a^-1 x; the batch of the factors broadcasts to that of x.
void solve_in_place(const LuFactors& factors, Tensor& x);

}  // namespace tapestry
