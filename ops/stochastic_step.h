// Optimiser steps of bf16, in f32 and rounded stochastically, without f32 copies. A step often
// changes a weight by less than the spacing of bf16: rounding to nearest would lose it every time,
// while stochastic rounding is right in expectation. The random bits for an element depend only on
// the key and its index in the parameter, not on the thread. Internal to ops.
#pragma once

#include <tapestry/core/half.h>
#include <tapestry/ops/kernels/half.h>
#include <tapestry/ops/kernels/optimizer_step.h>

#include <cstdint>

namespace tapestry {

/// kernels::AdamStep for n numbers; p, m and v are rounded by streams 0, 1 and 2 of `draw`.
void adam_by_chance(Bf16* p, Bf16* m, Bf16* v, const Bf16* g, std::int64_t n,
                    const kernels::AdamStep<float>& step, kernels::Draw draw);

/// kernels::SgdStep for n numbers; p and the velocity b, which may be null, are rounded by streams
/// 0 and 1.
void sgd_by_chance(Bf16* p, Bf16* b, const Bf16* g, std::int64_t n,
                   const kernels::SgdStep<float>& step, kernels::Draw draw);

}  // namespace tapestry
