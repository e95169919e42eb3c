// The gradient of the determinant, for matrices of any rank. Internal to ops.
#pragma once

#include <tapestry/core/tensor.h>

namespace tapestry {

/// The cofactors of each matrix of a [..., N, N], f32 or f64: the transpose of the adjugate, which
/// is det(a) a^-1 where that exists. Of rank 1 if a has rank N - 1, and 0 below, up to rounding.
/// Computed in f64; not recorded.
Tensor cofactors(const Tensor& a);

/// The same of recorded ops: the determinants of all minors, O(N^5).
Tensor recorded_cofactors(const Tensor& a);

}  // namespace tapestry
