// Matrix products: what each is told, C = A B (+ bias) (+ C), and the families of kernels, for
// every ISA. Read next: gemm.h.
#pragma once

#include <cstdint>

namespace tapestry {
struct Bf16;
}

namespace tapestry::kernels {

/// C[m, n] = (accumulate ? C : 0) + sum_k A[m, k] B[k, n] + (bias ? bias[n] : 0).
/// A and B are read at a + i * a_row + j * a_col: strides say transposed or not, and no transpose
/// is ever copied by the caller. Fast when one stride of each is 1; right for any strides.
/// C's columns are adjacent (stride 1); its rows c_row apart. C overlaps neither A nor B.
/// The sum over k runs in an order fixed by the shape and the ISA, for any number of threads.
/// S: how the numbers of B are stored, if not as T.
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
    using Function = void (*)(const GemmArguments<T>&);
    Function gemm;         ///< on all threads
    Function gemm_serial;  ///< on the calling thread, for those who share out many products
};

/// Products of bf16: by the tiles of f32, for which they are widened (wide_gemm.h), and by an
/// instruction for them, where there is one that is worth it (half_panels.h).
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

/// Products with a matrix of whole numbers of eight bits, for those who write one token at a time.
struct Int8Gemm {
    /// C = A B of few rows (gemm_few_rows.h), rows of A and columns of B being runs of memory,
    /// added up in f32 and in the order of f32's. On all threads, if that is worth it.
    void (*few_rows)(const GemmArguments<float, std::int8_t>& g);
};

}  // namespace tapestry::kernels
