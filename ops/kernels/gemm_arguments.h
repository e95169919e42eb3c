// C = A B (+ bias) (+ C): what a matrix product is told, for every ISA.
#pragma once

#include <cstdint>

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

}  // namespace tapestry::kernels
