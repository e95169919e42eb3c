// emscripten turns numbers into whole ones lane by lane, by a call each; every exponential does so
// once. Here all four at once, to what SSE2 gives: 0x80000000 for what is out of range or no
// number.
#pragma once

#define _mm_cvtps_epi32 tapestry_shim_cvtps_epi32_by_lane
#define _mm_cvttps_epi32 tapestry_shim_cvttps_epi32_by_lane
#include_next <emmintrin.h>
#undef _mm_cvtps_epi32
#undef _mm_cvttps_epi32

static __inline__ __m128i __attribute__((__always_inline__, __nodebug__))
_mm_cvttps_epi32(__m128 a) {
    const v128_t in_range =
        wasm_f32x4_lt(wasm_f32x4_abs((v128_t)a), wasm_f32x4_const_splat(0x1p31F));
    return (__m128i)wasm_v128_bitselect(wasm_i32x4_trunc_sat_f32x4((v128_t)a),
                                        wasm_i32x4_const_splat(INT32_MIN), in_range);
}

static __inline__ __m128i __attribute__((__always_inline__, __nodebug__))
_mm_cvtps_epi32(__m128 a) {
    return _mm_cvttps_epi32((__m128)wasm_f32x4_nearest((v128_t)a));
}
