// A vector of whole numbers of eight bits as f32.
#pragma once

#include <tapestry/ops/kernels/simd.h>

#include <cstdint>

namespace tapestry::kernels::TAPESTRY_ISA_NAME {

/// What load and load_partial of simd.h are, of such numbers.
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

}  // namespace tapestry::kernels::TAPESTRY_ISA_NAME
