// Products of bf16 by an instruction for them, where there is one that is worth it; elsewhere
// ops/half_product.cpp widens them for the kernels of f32.
#pragma once

#include <tapestry/ops/kernels/gemm_arguments.h>

namespace tapestry {
struct Bf16;
}

namespace tapestry::kernels {

struct HalfGemm {
    /// C = A B (+ bias), each element added up in f32, rounded once; g.accumulate is not looked at.
    /// On all threads, or on the calling one alone. Null: none such.
    void (*multiply)(const GemmArguments<Bf16>& g, bool serial);
};

}  // namespace tapestry::kernels
