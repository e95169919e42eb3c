// A vector of bf16 and one of f32, as integers, for a bf16 is the upper half of an f32: the one
// place where kernels round to it. The compilers' own vectors, for xsimd has none of 16 bits beside
// those of 32.
#pragma once

#include <tapestry/ops/kernels/simd.h>

#include <cstdint>

namespace tapestry::kernels::TAPESTRY_ISA_NAME {

inline constexpr std::int64_t kHalfWidth = kLanes<float>;
using Words __attribute__((vector_size(kHalfWidth * 4))) = std::uint32_t;
using Signed __attribute__((vector_size(kHalfWidth * 4))) = std::int32_t;
using Shorts __attribute__((vector_size(kHalfWidth * 2))) = std::uint16_t;

inline Words widened(const Shorts& x) { return __builtin_convertvector(x, Words) << 16U; }

// Half a step, less a little where the last bit that stays is 0, carries into it from whatever lies
// beyond the middle. A NaN would be carried into infinity, or beyond: it becomes quiet instead.
inline Shorts narrowed(const Words& x) {
    const Words rounded = x + 0x7fffU + (x >> 16U & 1U);
    const Signed size = reinterpret_cast<Signed>(x & 0x7fffffffU);
    const Words nan = reinterpret_cast<Words>(size > 0x7f800000);
    const Words kept = (nan & (x | 0x400000U)) | (~nan & rounded);
    return __builtin_convertvector(kept >> 16U, Shorts);
}

}  // namespace tapestry::kernels::TAPESTRY_ISA_NAME
