// The micro-kernel: one tile of C, held in registers over a whole block of k.
#pragma once

#include "ops/kernels/gemm_arguments.h"
#include "ops/kernels/simd.h"

namespace tapestry::kernels::TAPESTRY_ISA_NAME {

#if defined(__AVX512BW__) || defined(__aarch64__)
inline constexpr bool kManyRegisters = true;
#else
inline constexpr bool kManyRegisters = false;
#endif

#if defined(__AVX512BW__)
inline constexpr int kPanelVectors = 4;
#elif defined(__aarch64__)
inline constexpr int kPanelVectors = 3;
#else
inline constexpr int kPanelVectors = 2;
#endif

/// Rows of a tile that is `vectors` wide.
constexpr int tile_rows(int vectors) {
    if (kManyRegisters) return vectors == 4 ? 6 : 8;
    return vectors == 2 ? 6 : 8;
}

template <class T>
struct TileOperands {
    std::int64_t k = 0;
    const T* a = nullptr;
    std::int64_t a_row = 0, a_col = 0;
    const T* b = nullptr;
    T* c = nullptr;
    std::int64_t c_row = 0;
    const T* bias = nullptr;
    bool accumulate = false;
    std::int64_t last = 0;  // columns wanted of the last vector
};

template <class T, int Vectors>
inline void store_tile_row(const TileOperands<T>& t, std::int64_t i, const Batch<T>* sums) {
#pragma GCC unroll 4
    for (int v = 0; v < Vectors; ++v) {
        Batch<T> x = sums[v];
        T* const c = t.c + i * t.c_row + v * kLanes<T>;
        const T* const bias = t.bias + v * kLanes<T>;
        if (v + 1 < Vectors || t.last == kLanes<T>) {
            if (t.accumulate) x = x + load(c);
            if (t.bias != nullptr) x = x + load(bias);
            store(c, x);
        } else {
            if (t.accumulate) x = x + load_partial(c, t.last);
            if (t.bias != nullptr) x = x + load_partial(bias, t.last);
            store_partial(c, x, t.last);
        }
    }
}

template <class T, int Vectors, int Rows>
void multiply_tile(const TileOperands<T>& t) {
    Batch<T> sum[Rows][Vectors];
#pragma GCC unroll 8
    for (int i = 0; i < Rows; ++i) {
#pragma GCC unroll 4
        for (int v = 0; v < Vectors; ++v) sum[i][v] = Batch<T>(T(0));
    }
    const T* a[Rows];
#pragma GCC unroll 8
    for (int i = 0; i < Rows; ++i) {
        a[i] = t.a + i * t.a_row;
        __builtin_prefetch(t.c + i * t.c_row, 1);
        __builtin_prefetch(t.c + i * t.c_row + Vectors * kLanes<T> - 1, 1);
    }
    const T* b = t.b;
    const T* const b_end = b + t.k * (Vectors * kLanes<T>);
    for (std::int64_t offset = 0; b != b_end; offset += t.a_col, b += Vectors * kLanes<T>) {
        Batch<T> row[Vectors];
#pragma GCC unroll 4
        for (int v = 0; v < Vectors; ++v) row[v] = load(b + v * kLanes<T>);
#pragma GCC unroll 8
        for (int i = 0; i < Rows; ++i) {
            const Batch<T> x(a[i][offset]);
#pragma GCC unroll 4
            for (int v = 0; v < Vectors; ++v) sum[i][v] = fma(x, row[v], sum[i][v]);
        }
    }
#pragma GCC unroll 8
    for (int i = 0; i < Rows; ++i) store_tile_row<T, Vectors>(t, i, sum[i]);
}

template <class T, int Vectors, int Rows = tile_rows(Vectors)>
void multiply_rows(std::int64_t rows, const TileOperands<T>& t) {
    if (rows == Rows) {
        multiply_tile<T, Vectors, Rows>(t);
    } else if constexpr (Rows > 1) {
        multiply_rows<T, Vectors, Rows - 1>(rows, t);
    }
}

}  // namespace tapestry::kernels::TAPESTRY_ISA_NAME
