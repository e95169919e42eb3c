// C = A B where A has one or a few rows: generation token by token does nothing else.
//
// Each number of B is used so rarely that the product is memory-bound, and packing B would triple
// the traffic. So B is read in place, once, in memory order:
//
//     b_row = 1  (x W^T, a linear layer)    C[i, j] is the dot product of two runs of memory
//     b_col = 1  (P V, attention's values)  C[i, :] is a sum of rows of B
//
// Threads share the columns in blocks of a fixed size; one thread sums each element, in the order
// of k. If B is stored in fewer bits (GemmArguments' S), fewer bytes are read: load() of the type
// widens them in registers, and the sums are f32.
#pragma once

#include <tapestry/ops/kernels/gemm_loops.h>
#include <tapestry/ops/kernels/gemm_tile.h>
#include <tapestry/ops/kernels/half_vector.h>
#include <tapestry/ops/kernels/matmul.h>
#include <tapestry/ops/kernels/simd.h>

#include <cstdint>

namespace tapestry::kernels::TAPESTRY_ISA_NAME {

/// A vector of int8 as f32: the int8 versions of simd.h's load and load_partial.
inline Batch<float> load(const std::int8_t* p) {
#if defined(__AVX512BW__)
    const __m128i in = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    return Batch<float>(_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(in)));
#elif defined(__AVX2__)
    const __m128i in = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p));
    return Batch<float>(_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(in)));
#else
    alignas(16) float out[kLanes<float>];
    for (std::int64_t i = 0; i < kLanes<float>; ++i) out[i] = static_cast<float>(p[i]);
    return Batch<float>::load_aligned(out);
#endif
}

inline Batch<float> load_partial(const std::int8_t* p, std::int64_t n) {
    std::int8_t all[kLanes<float>] = {};
    for (std::int64_t i = 0; i < n; ++i) all[i] = p[i];
    return load(all);
}

/// From 5 rows on packing pays: at 384 x 1536 it breaks even at 4 to 6.
inline constexpr std::int64_t kFewRows = 4;
/// Elements of B above which a second thread pays: reading 10^5 floats takes 10 microseconds.
inline constexpr std::int64_t kParallelReading = 100'000;
/// Columns per block: for dot products a few columns of B, for sums 8 adjacent vectors.
inline constexpr std::int64_t kDotColumns = 32;
inline constexpr int kSumVectors = 8;

template <class T, class S>
bool has_few_rows(const GemmArguments<T, S>& g) {
    return g.m <= kFewRows && ((g.b_row == 1 && g.a_col == 1) || g.b_col == 1);
}

template <class T, class S>
void finish_element(const GemmArguments<T, S>& g, std::int64_t i, std::int64_t j, T sum) {
    T& c = g.c[i * g.c_row + j];
    if (g.bias != nullptr) sum += g.bias[j];
    c = g.accumulate ? c + sum : sum;
}

/// sums[c] = sum_p x[p] y[c * stride + p], 0 <= p < n, for `Columns` runs at once, so their loads
/// overlap; two sums per run hide the latency of the FMA.
template <class T, int Columns, class S>
void dot_products(const T* x, const S* y, std::int64_t stride, std::int64_t n, T* sums) {
    Batch<T> even[Columns], odd[Columns];
    for (int c = 0; c < Columns; ++c) even[c] = odd[c] = Batch<T>(T(0));
    std::int64_t p = 0;
    for (; p + 2 * kLanes<T> <= n; p += 2 * kLanes<T>) {
        const Batch<T> x0 = load(x + p), x1 = load(x + p + kLanes<T>);
#pragma GCC unroll 4
        for (int c = 0; c < Columns; ++c) {
            const S* const run = y + c * stride + p;
            even[c] = fma(x0, load(run), even[c]);
            odd[c] = fma(x1, load(run + kLanes<T>), odd[c]);
            // Prefetches the next runs: without this, reading is 3 to 8% slower, because the
            // hardware prefetcher sees short runs and stops at page boundaries.
            __builtin_prefetch(run + Columns * stride);
            if (2 * kLanes < T >> kLine<S>) __builtin_prefetch(run + Columns * stride + kLanes<T>);
        }
    }
    for (; p < n; p += kLanes<T>) {
        const std::int64_t rest = n - p;
        const bool whole = rest >= kLanes<T>;
        const Batch<T> x0 = whole ? load(x + p) : load_partial(x + p, rest);
        for (int c = 0; c < Columns; ++c) {
            const S* const run = y + c * stride + p;
            even[c] = fma(x0, whole ? load(run) : load_partial(run, rest), even[c]);
        }
    }
    for (int c = 0; c < Columns; ++c) sums[c] = reduce_add(even[c] + odd[c]);
}

/// Columns [begin, end) of C, for b_row = 1.
template <class T, class S>
void few_rows_by_dot_products(const GemmArguments<T, S>& g, std::int64_t begin, std::int64_t end) {
    constexpr int kColumns = 4;
    T sums[kColumns];
    std::int64_t j = begin;
    for (; j + kColumns <= end; j += kColumns) {
        for (std::int64_t i = 0; i < g.m; ++i) {  // these columns of B are now in L1
            dot_products<T, kColumns>(g.a + i * g.a_row, g.b + j * g.b_col, g.b_col, g.k, sums);
            for (int c = 0; c < kColumns; ++c) finish_element(g, i, j + c, sums[c]);
        }
    }
    for (; j < end; ++j) {
        for (std::int64_t i = 0; i < g.m; ++i) {
            dot_products<T, 1>(g.a + i * g.a_row, g.b + j * g.b_col, g.b_col, g.k, sums);
            finish_element(g, i, j, sums[0]);
        }
    }
}

/// Columns [begin, begin + width) of C, for b_col = 1; width is at most kSumVectors vectors.
template <class T, class S>
void few_rows_by_sums(const GemmArguments<T, S>& g, std::int64_t begin, std::int64_t width) {
    alignas(64) T sums[kSumVectors * kLanes<T>];
    const std::int64_t whole = width / kLanes<T>, rest = width % kLanes<T>;
    for (std::int64_t i = 0; i < g.m; ++i) {
        Batch<T> sum[kSumVectors];
        for (int v = 0; v < kSumVectors; ++v) sum[v] = Batch<T>(T(0));
        for (std::int64_t p = 0; p < g.k; ++p) {
            const Batch<T> x(g.a[i * g.a_row + p * g.a_col]);
            const S* const row = g.b + p * g.b_row + begin;
            if (whole == kSumVectors) {
#pragma GCC unroll 8
                for (int v = 0; v < kSumVectors; ++v) {
                    sum[v] = fma(x, load(row + v * kLanes<T>), sum[v]);
                }
                continue;
            }
            for (std::int64_t v = 0; v < whole; ++v) {
                sum[v] = fma(x, load(row + v * kLanes<T>), sum[v]);
            }
            if (rest > 0) {
                const std::int64_t at = whole * kLanes<T>;
                sum[whole] = fma(x, load_partial(row + at, rest), sum[whole]);
            }
        }
        for (int v = 0; v < kSumVectors; ++v) store(sums + v * kLanes<T>, sum[v]);
        for (std::int64_t j = 0; j < width; ++j) finish_element(g, i, begin + j, sums[j]);
    }
}

template <class T, class S>
void gemm_of_few_rows(const GemmArguments<T, S>& g, const Threads& threads) {
    const bool dots = g.b_row == 1 && g.a_col == 1;
    const std::int64_t width = dots ? kDotColumns : kSumVectors * kLanes<T>;
    threads.share(divide_up(g.n, width), [&g, dots, width](std::int64_t block) {
        const std::int64_t begin = block * width, end = smaller(begin + width, g.n);
        if (dots) {
            few_rows_by_dot_products(g, begin, end);
        } else {
            few_rows_by_sums(g, begin, end - begin);
        }
    });
}

}  // namespace tapestry::kernels::TAPESTRY_ISA_NAME
