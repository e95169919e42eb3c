// Vectors and arrays of bf16, the upper half of an f32: the one place where kernels round to it.
// Uses the compilers' integer vectors, because xsimd does not pair vectors of 16 and 32 bits.
#pragma once

#include <tapestry/ops/kernels/simd.h>

#include <cstdint>

namespace tapestry::kernels::TAPESTRY_ISA_NAME {

inline constexpr std::int64_t kHalfWidth = kLanes<float>;
using Words __attribute__((vector_size(kHalfWidth * 4))) = std::uint32_t;
using Floats __attribute__((vector_size(kHalfWidth * 4))) = float;
using Shorts __attribute__((vector_size(kHalfWidth * 2))) = std::uint16_t;

// g++ 12 splits the conversion into halves and rejoins them: three instructions too many.
inline Words widened(const Shorts& x) {
#if defined(__AVX512BW__)
    const __m512i words = _mm512_cvtepu16_epi32(reinterpret_cast<__m256i>(x));
    return reinterpret_cast<Words>(words) << 16U;
#elif defined(__AVX2__)
    const __m256i words = _mm256_cvtepu16_epi32(reinterpret_cast<__m128i>(x));
    return reinterpret_cast<Words>(words) << 16U;
#else
    return __builtin_convertvector(x, Words) << 16U;
#endif
}

/// The upper halves of words.
inline Shorts upper_halves(const Words& x) { return __builtin_convertvector(x >> 16U, Shorts); }

/// Stores the upper halves of two vectors, one after the other.
inline void store_upper_halves(std::uint16_t* y, const Words& a, const Words& b) {
#if defined(__AVX512BW__)
    const __m512i odd =
        _mm512_set_epi16(63, 61, 59, 57, 55, 53, 51, 49, 47, 45, 43, 41, 39, 37, 35, 33, 31, 29, 27,
                         25, 23, 21, 19, 17, 15, 13, 11, 9, 7, 5, 3, 1);
    _mm512_storeu_si512(y, _mm512_permutex2var_epi16(reinterpret_cast<__m512i>(a), odd,
                                                     reinterpret_cast<__m512i>(b)));
#elif defined(__AVX2__)
    // Packs within each half of a register: four of a, four of b, four of a, four of b.
    const __m256i mixed = _mm256_packus_epi32(reinterpret_cast<__m256i>(a >> 16U),
                                              reinterpret_cast<__m256i>(b >> 16U));
    _mm256_storeu_si256(reinterpret_cast<__m256i_u*>(y), _mm256_permute4x64_epi64(mixed, 0xd8));
#else
    const Shorts first = upper_halves(a), second = upper_halves(b);
    __builtin_memcpy(y, &first, sizeof first);
    __builtin_memcpy(y + kHalfWidth, &second, sizeof second);
#endif
}

// Rounds to nearest even; the result is in the upper halves, as for the next function. Adds half a
// step, minus one unit if the last kept bit is 0: values beyond the midpoint carry into it. For NaN
// the addition could carry into the exponent or sign: it is made quiet instead.
inline Words rounded(const Words& x) {
    const auto number = reinterpret_cast<Floats>(x);
    const Words risen = x + 0x7fffU + (x >> 16U & 1U);
    return number != number ? x | 0x400000U : risen;
}

// Rounds stochastically to one of the two neighbours (core/half.h).
inline Words rounded_by_chance(const Words& x, const Shorts& chance) {
    const auto number = reinterpret_cast<Floats>(x);
    const Words risen = x + __builtin_convertvector(chance, Words);
    return number != number ? x | 0x400000U : risen;
}

inline Shorts narrowed(const Words& x) { return upper_halves(rounded(x)); }

/// The versions of simd.h's load and load_partial for bf16 bits, widened to f32.
inline Batch<float> load(const std::uint16_t* p) {
    Shorts in;
    __builtin_memcpy(&in, p, sizeof in);
    return Batch<float>(reinterpret_cast<typename Batch<float>::register_type>(widened(in)));
}

inline Batch<float> load_partial(const std::uint16_t* p, std::int64_t n) {
    Shorts in = {};
    __builtin_memcpy(&in, p, 2 * static_cast<std::size_t>(n));
    return Batch<float>(reinterpret_cast<typename Batch<float>::register_type>(widened(in)));
}

/// y[i] = x[i], 0 <= i < n; prefetches the n numbers `ahead` of x, unless that is 0.
inline void widen_run(float* y, const std::uint16_t* x, std::int64_t n, std::int64_t ahead = 0) {
    std::int64_t i = 0;
    for (; i + kHalfWidth <= n; i += kHalfWidth) {
        if (ahead != 0) __builtin_prefetch(x + i + ahead, 0, 2);
        store(y + i, load(x + i));
    }
    if (i < n) store_partial(y + i, load_partial(x + i, n - i), n - i);
}

/// Prefetch distance, in elements, of the destination.
inline constexpr std::int64_t kWrittenAhead = 1024;

inline Words load_words(const float* x) {
    Words in;
    __builtin_memcpy(&in, x, sizeof in);
    return in;
}

// Writes the upper halves of round(vector of x, index of its first element, number of elements) to
// y.
template <class Round>
inline void narrow_by(std::uint16_t* y, const float* x, std::int64_t n, const Round& round) {
    std::int64_t i = 0;
    for (; i + 2 * kHalfWidth <= n; i += 2 * kHalfWidth) {
        __builtin_prefetch(y + i + kWrittenAhead, 1);
        store_upper_halves(y + i, round(load_words(x + i), i, kHalfWidth),
                           round(load_words(x + i + kHalfWidth), i + kHalfWidth, kHalfWidth));
    }
    if (i + kHalfWidth <= n) {
        const Shorts out = upper_halves(round(load_words(x + i), i, kHalfWidth));
        __builtin_memcpy(y + i, &out, sizeof out);
        i += kHalfWidth;
    }
    if (i == n) return;
    const auto rest = static_cast<std::size_t>(n - i);
    Words in = {};
    __builtin_memcpy(&in, x + i, 4 * rest);
    const Shorts out = upper_halves(round(in, i, n - i));
    __builtin_memcpy(y + i, &out, 2 * rest);
}

/// The same, rounded to nearest even.
inline void narrow_run(std::uint16_t* y, const float* x, std::int64_t n) {
    narrow_by(y, x, n, [](const Words& in, std::int64_t, std::int64_t) { return rounded(in); });
}

/// The same, rounded stochastically by chance[i].
inline void narrow_run_by_chance(std::uint16_t* y, const float* x, const std::uint16_t* chance,
                                 std::int64_t n) {
    narrow_by(y, x, n, [chance](const Words& in, std::int64_t i, std::int64_t count) {
        Shorts drawn = {};
        __builtin_memcpy(&drawn, chance + i, 2 * static_cast<std::size_t>(count));
        return rounded_by_chance(in, drawn);
    });
}

}  // namespace tapestry::kernels::TAPESTRY_ISA_NAME
