// Adam where parameter, gradient and both moments are bf16, and nothing is kept beside them.
//
// A step changes a weight by less than lies between two numbers of bf16: rounded to nearest it
// would be lost, step after step. Rounded by chance it arrives in the mean. What is drawn for a
// number follows from a key and its place in its parameter alone, whoever computes it.
// Internal to ops. Read next: optimizer_step.cpp, which cuts parameters into pieces.
#pragma once

#include <tapestry/core/dtype.h>
#include <tapestry/ops/kernels/half.h>
#include <tapestry/ops/kernels/optimizer_step.h>

#include <cstdint>

namespace tapestry {

/// The step of kernels::AdamStep for n numbers, in f32; p, m and v are rounded by the chances 0, 1
/// and 2 of `draw`.
void adam_by_chance(Bf16* p, Bf16* m, Bf16* v, const Bf16* g, std::int64_t n,
                    const kernels::AdamStep<float>& step, kernels::Draw draw);

}  // namespace tapestry
