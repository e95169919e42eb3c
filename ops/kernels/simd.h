// Included by every kernel: one vector type per ISA, and the few things that xsimd lacks.
//
// A kernel file is compiled once per ISA (see cmake/kernels.cmake). The build defines
//   TAPESTRY_ISA_NAME  the namespace of the kernels: baseline, avx2, avx512, avx512_bf16,
//                      avx512_amx or neon
//   xsimd              renamed per ISA (-Dxsimd=xsimd_avx512); otherwise an inline function of
//                      xsimd compiled for AVX-512 could be the copy that the linker keeps for all.
// Kernels get raw pointers and sizes. No std templates here: they would also be weak symbols.
//
// Differences between xsimd 8.1 (Debian 12) and 13 (Debian 13) are handled only in this file.
#pragma once

#include <xsimd/xsimd.hpp>

#include <cstdint>

#if defined(__aarch64__)
namespace xsimd {
/// xsimd 8.1 computes the root of floats via an estimate of 1 / sqrt(x), which gives NaN for
/// infinity. Calls prefer this overload because it is not a template.
inline batch<float, neon64> sqrt(const batch<float, neon64>& x) { return vsqrtq_f32(x); }

namespace kernel {
/// xsimd divides floats by an estimate of 1 / y and two Newton steps: up to 2 units in the last
/// place off, NaN for 0 divided by a subnormal number. AArch64 has an instruction.
template <>
inline batch<float, neon64> div<neon64>(const batch<float, neon64>& x,
                                        const batch<float, neon64>& y,
                                        requires_arch<neon>) noexcept {
    return vdivq_f32(x, y);
}
}  // namespace kernel

// xsimd 8.1 finds these by tables over all types and widths. The instruction is the same, but that
// costs g++ several seconds in every kernel with an exponential.
#if XSIMD_VERSION_MAJOR < 9
namespace kernel {
template <>
inline batch<std::int32_t, neon64> bitwise_cast<neon64>(const batch<float, neon64>& x,
                                                        const batch<std::int32_t, neon64>&,
                                                        requires_arch<neon>) noexcept {
    return vreinterpretq_s32_f32(x);
}
template <>
inline batch<float, neon64> bitwise_cast<neon64>(const batch<std::int32_t, neon64>& x,
                                                 const batch<float, neon64>&,
                                                 requires_arch<neon>) noexcept {
    return vreinterpretq_f32_s32(x);
}
template <>
inline batch<std::int32_t, neon64> bitwise_lshift<neon64>(const batch<std::int32_t, neon64>& x,
                                                          int n, requires_arch<neon>) noexcept {
    return x.data << n;
}
template <>
inline batch<std::int32_t, neon64> bitwise_rshift<neon64>(const batch<std::int32_t, neon64>& x,
                                                          int n, requires_arch<neon>) noexcept {
    return x.data >> n;
}
}  // namespace kernel
#endif
}  // namespace xsimd
#endif

namespace tapestry::kernels::TAPESTRY_ISA_NAME {

#if defined(__AVX512BW__)
using Arch = xsimd::avx512bw;
#elif defined(__AVX2__) && defined(__FMA__)
using Arch = xsimd::fma3<xsimd::avx2>;
#else
using Arch = xsimd::default_arch;  // sse2 on x86-64, neon64 on AArch64
#endif

/// A vector of T: 16 floats on AVX-512, 8 on AVX2, 4 on SSE2 and NEON.
template <class T>
using Batch = xsimd::batch<T, Arch>;

template <class T>
inline constexpr std::int64_t kLanes = static_cast<std::int64_t>(Batch<T>::size);

template <class T>
inline Batch<T> load(const T* p) {
    return Batch<T>::load_unaligned(p);
}

template <class T>
inline void store(T* p, const Batch<T>& x) {
    x.store_unaligned(p);
}

/// x * y + z, rounded once where the ISA can. xsimd 8.1 has no AVX-512 form: without this, g++
/// contracts x * y + z to one instruction but clang 14 emits two, half of the peak.
template <class T>
inline Batch<T> fma(const Batch<T>& x, const Batch<T>& y, const Batch<T>& z) {
#if defined(__AVX512BW__)
    if constexpr (sizeof(T) == 4) {
        return Batch<T>(_mm512_fmadd_ps(x, y, z));
    } else {
        return Batch<T>(_mm512_fmadd_pd(x, y, z));
    }
#else
    return xsimd::fma(x, y, z);
#endif
}

/// x itself. A product that passes through here is rounded before it is added to anything;
/// otherwise compilers would fuse the two, and x - x might no longer be 0.
template <class T>
inline Batch<T> rounded(const Batch<T>& x) {
    typename Batch<T>::register_type value = x;
#if defined(__wasm__)  // has no fused multiply-add
#elif defined(__aarch64__)
    asm("" : "+w"(value));
#elif defined(__AVX512BW__)
    asm("" : "+v"(value));
#else
    asm("" : "+x"(value));
#endif
    return Batch<T>(value);
}

/// The first `n` of a vector's lanes (0 < n < kLanes), the others `fill`. A tail runs through the
/// same instructions as the body, so an element's bits do not depend on its position.
template <class T>
inline Batch<T> load_partial(const T* p, std::int64_t n, T fill = T(0)) {
#if defined(__AVX512BW__)
    if constexpr (sizeof(T) == 4) {
        const auto mask = static_cast<__mmask16>((1U << n) - 1U);
        return Batch<T>(_mm512_mask_loadu_ps(_mm512_set1_ps(fill), mask, p));
    } else {
        const auto mask = static_cast<__mmask8>((1U << n) - 1U);
        return Batch<T>(_mm512_mask_loadu_pd(_mm512_set1_pd(fill), mask, p));
    }
#else
    alignas(64) T lanes[kLanes<T>];
    for (std::int64_t i = 0; i < kLanes<T>; ++i) lanes[i] = i < n ? p[i] : fill;
    return Batch<T>::load_aligned(lanes);
#endif
}

template <class T>
inline void store_partial(T* p, const Batch<T>& x, std::int64_t n) {
#if defined(__AVX512BW__)
    if constexpr (sizeof(T) == 4) {
        _mm512_mask_storeu_ps(p, static_cast<__mmask16>((1U << n) - 1U), x);
    } else {
        _mm512_mask_storeu_pd(p, static_cast<__mmask8>((1U << n) - 1U), x);
    }
#else
    alignas(64) T lanes[kLanes<T>];
    x.store_aligned(lanes);
    for (std::int64_t i = 0; i < n; ++i) p[i] = lanes[i];
#endif
}

/// x, and `fill` in all lanes but the first `n` (0 < n <= kLanes).
template <class T>
inline Batch<T> first_lanes(const Batch<T>& x, std::int64_t n, T fill) {
#if defined(__AVX512BW__)
    if constexpr (sizeof(T) == 4) {
        const auto mask = static_cast<__mmask16>((1U << n) - 1U);
        return Batch<T>(_mm512_mask_mov_ps(_mm512_set1_ps(fill), mask, x));
    } else {
        const auto mask = static_cast<__mmask8>((1U << n) - 1U);
        return Batch<T>(_mm512_mask_mov_pd(_mm512_set1_pd(fill), mask, x));
    }
#else
    if (n == kLanes<T>) return x;
    alignas(64) T lanes[kLanes<T>];
    x.store_aligned(lanes);
    for (std::int64_t i = n; i < kLanes<T>; ++i) lanes[i] = fill;
    return Batch<T>::load_aligned(lanes);
#endif
}

/// Fills the function pointers of a family of kernels (table.h) with this ISA's code. Each NAME.cpp
/// specialises it for its family.
template <class Family>
void install(Family& kernels);

/// Sum of the lanes, in an order fixed by the ISA.
template <class T>
inline T reduce_add(const Batch<T>& x) {
#if XSIMD_VERSION_MAJOR >= 9
    return xsimd::reduce_add(x);
#else
    return xsimd::hadd(x);
#endif
}

/// Largest lane. Callers must handle NaN.
template <class T>
inline T reduce_max(const Batch<T>& x) {
#if defined(__AVX512BW__)
    if constexpr (sizeof(T) == 4) {
        return _mm512_reduce_max_ps(x);
    } else {
        return _mm512_reduce_max_pd(x);
    }
#else
    alignas(64) T lanes[kLanes<T>];
    x.store_aligned(lanes);
    for (std::int64_t half = kLanes<T> / 2; half > 0; half /= 2) {
        for (std::int64_t i = 0; i < half; ++i) {
            lanes[i] = lanes[i] < lanes[i + half] ? lanes[i + half] : lanes[i];
        }
    }
    return lanes[0];
#endif
}

// ---- rows, one vector at a time -----------------------------------------------------------------
// Tail included, with the body of the loop written once:
//
//     for_each_vector<T>(n, [&](std::int64_t i, const auto& part) {
//         part.put(y + i, part.get(a + i) * part.get(b + i));
//     });
//
// `part` loads and stores whole vectors, except the last, partial one, whose unused lanes read as
// zero (or `fill`) and are not written. Read next: reduce_row.h.

template <class T>
struct WholeVector {
    Batch<T> get(const T* p, T /*fill*/ = T(0)) const { return load(p); }
    void put(T* p, const Batch<T>& x) const { store(p, x); }
};

template <class T>
struct PartVector {
    std::int64_t n;
    Batch<T> get(const T* p, T fill = T(0)) const { return load_partial(p, n, fill); }
    void put(T* p, const Batch<T>& x) const { store_partial(p, x, n); }
};

template <class T, class F>
inline void for_each_vector(std::int64_t n, const F& f) {
    std::int64_t i = 0;
    for (; i + kLanes<T> <= n; i += kLanes<T>) f(i, WholeVector<T>{});
    if (i < n) f(i, PartVector<T>{n - i});
}

}  // namespace tapestry::kernels::TAPESTRY_ISA_NAME
