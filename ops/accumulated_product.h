// A product into memory that exists, without a tape.
// Internal to ops.
#pragma once

#include <tapestry/core/tensor.h>

namespace tapestry {

/// y = (accumulate ? y : 0) + a b for a [m, k], b [k, n] of one floating-point dtype and y [m, n]
/// with contiguous rows. y has their dtype, or for narrow ones may be a contiguous f32: then each
/// call's product is rounded to the narrow type, and sums of calls are f32. `accumulate` needs a y
/// that is not narrow.
void multiply_into(const Tensor& a, const Tensor& b, Tensor& y, bool accumulate);

}  // namespace tapestry
