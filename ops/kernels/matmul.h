// Matrix products C = A B (+ bias) (+ C): their arguments, and the families of kernels for every
// ISA. Read next: gemm.h.
#pragma once

#include <cstdint>

namespace tapestry {
struct Bf16;
}

namespace tapestry::kernels {

/// C[m, n] = (accumulate ? C : 0) + sum_k A[m, k] B[k, n] + (bias ? bias[n] : 0). A is read at
/// a + i * a_row + j * a_col, and B likewise: strides express transposition, so callers never copy
/// a transpose. Fast if one stride of each is 1; correct for any strides. C's columns are adjacent
/// (stride 1), its rows c_row apart. C overlaps neither A nor B. The sum over k runs in an order
/// fixed by the shape and the ISA, for any number of threads. S is the storage type of B, if not T.
template <class T, class S = T>
struct GemmArguments {
    std::int64_t m = 0, n = 0, k = 0;
    const T* a = nullptr;
    std::int64_t a_row = 0, a_col = 0;
    const S* b = nullptr;
    std::int64_t b_row = 0, b_col = 0;
    T* c = nullptr;
    std::int64_t c_row = 0;
    const T* bias = nullptr;
    bool accumulate = false;
};

/// Implemented in gemm.h.
template <class T>
struct Gemm {
    /// On all threads, or only on the calling one if `serial`, for products run in parallel.
    void (*gemm)(const GemmArguments<T>& g, bool serial);
};

/// Products of bf16: by widening to the f32 tiles (widened_gemm.h), and by a bf16 instruction, if
/// there is one that is worth it (half_panels.h).
struct HalfGemm {
    /// C = A B (+ bias), with each element summed in f32 and rounded once; g.accumulate is ignored.
    /// One stride each of A and B is 1. Runs on all threads, or only on the calling one if
    /// `serial`.
    using Function = void (*)(const GemmArguments<Bf16>& g, bool serial);
    Function in_f32 = nullptr;          ///< with the bits of a rounded f32 product
    Function by_instruction = nullptr;  ///< null if there is none; then the following are unset
    /// For measuring peak (peak.h): multiplies the same two panels in L1 repeatedly. Returns a sum
    /// of some results, so the work is not optimised away.
    float (*repeat_panel)(std::int64_t rounds) = nullptr;
    std::int64_t panel_multiply_adds = 0;  ///< per round
};

/// Products with an int8 matrix, for generation token by token.
struct Int8Gemm {
    /// C = A B for few rows (gemm_few_rows.h), with contiguous rows of A and columns of B, summed
    /// in f32 in the same order as f32 products. Runs on all threads if that is worth it.
    void (*few_rows)(const GemmArguments<float, std::int8_t>& g);
};

}  // namespace tapestry::kernels
