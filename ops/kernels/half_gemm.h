// Products of bf16: by the tiles of f32, for which they are widened (wide_gemm.h), and by an
// instruction for them, where there is one that is worth it (half_panels.h).
#pragma once

#include <tapestry/ops/kernels/gemm_arguments.h>

namespace tapestry {
struct Bf16;
}

namespace tapestry::kernels {

struct HalfGemm {
    /// C = A B (+ bias), each element added up in f32, rounded once; g.accumulate is not looked at.
    /// Of A, and of B, one stride is 1. On all threads, or on the calling one alone.
    using Function = void (*)(const GemmArguments<Bf16>& g, bool serial);
    Function in_f32 = nullptr;          ///< to the bits of a product in f32, rounded
    Function by_instruction = nullptr;  ///< null: there is none, and nothing of what follows
    /// The fastest that it goes (peak.h): the same two panels again and again, which lie in L1. The
    /// sum of a number of the products, so that none is left out.
    float (*repeat_panel)(std::int64_t rounds) = nullptr;
    std::int64_t panel_multiply_adds = 0;  ///< in a round
};

}  // namespace tapestry::kernels
