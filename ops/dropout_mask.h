// The arithmetic of dropout, shared by dropout and attention: kept elements are scaled, the others
// become zero. Internal to ops. Read next: dropout.cpp.
#pragma once

#include <tapestry/core/random.h>

#include <cstdint>

namespace tapestry {

/// Scale of the kept elements, 1 / (1 - p), which preserves the expectation. With p = 1 nothing is
/// kept and the factor does not matter.
inline double keep_factor(double p) { return p < 1 ? 1 / (1 - p) : 0; }

/// bernoulli(shape, 1 - p, generator), computed by the instruction set's kernels.
Tensor draw_dropout_mask(const Shape& shape, double p, Generator& generator);

}  // namespace tapestry
