// C = A B of bf16 by VDPBF16PS: twice the multiply-adds of an f32 FMA. Compiled only for the ISA
// avx512_bf16, whose other kernels are those of AVX-512 (table.cpp). core/cpu.cpp decides which
// processors use it.
//
// 8 x 2 vectors of C at a time: 10 loads for 16 multiplications; each of A's broadcasts a pair of
// numbers, each of B's reads the pairs of 16 columns.
//
// What an element's bits depend on: an instruction adds the product of the odd step of a pair, then
// that of the even one, each fused and rounded to nearest even; pairs go in order, with k padded to
// a multiple of 32. Subnormal inputs and results count as 0, and MXCSR is ignored. Source: Intel,
// "Architecture Instruction Set Extensions Programming Reference", VDPBF16PS.
// Read first: half_panels.h.
#include <tapestry/ops/kernels/half_panels.h>

namespace tapestry::kernels::TAPESTRY_ISA_NAME {
namespace {

constexpr int kRows = 8;
static_assert(kTileSide % kRows == 0);

/// Computes c [8, 32]; its rows begin at `c`, those of A at `a`. Inlined, its loop would have too
/// few registers for addresses.
[[gnu::noinline]] void multiply_rows(const std::uint16_t* a, const std::uint16_t* b,
                                     std::int64_t steps, float* c) {
    __m512 sum[kRows][2];
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) sum[i][0] = sum[i][1] = _mm512_setzero_ps();
    for (std::int64_t s = 0; s < steps; ++s, a += 2 * kTileSize, b += 2 * kTileSize) {
        for (std::int64_t pair = 0; pair < kTileSide; ++pair) {
            const auto left = reinterpret_cast<__m512bh>(_mm512_load_si512(b + pair * kTileDepth));
            const auto right =
                reinterpret_cast<__m512bh>(_mm512_load_si512(b + kTileSize + pair * kTileDepth));
#pragma GCC unroll 8
            for (int i = 0; i < kRows; ++i) {
                std::int32_t two;
                __builtin_memcpy(&two, a + i * kTileDepth + 2 * pair, sizeof two);
                const auto x = reinterpret_cast<__m512bh>(_mm512_set1_epi32(two));
                sum[i][0] = _mm512_dpbf16_ps(sum[i][0], x, left);
                sum[i][1] = _mm512_dpbf16_ps(sum[i][1], x, right);
            }
        }
    }
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) {
        _mm512_store_ps(c + i * kPanel, sum[i][0]);
        _mm512_store_ps(c + i * kPanel + kTileSide, sum[i][1]);
    }
}

struct Vdpbf16ps {
    void multiply(const std::uint16_t* a, const std::uint16_t* b, std::int64_t steps,
                  std::int64_t rows, float* c) const {
        for (std::int64_t row = 0; row < rows; row += kRows) {
            const std::int64_t tile = row / kTileSide, line = row % kTileSide;
            multiply_rows(a + tile * kTileSize + line * kTileDepth, b, steps, c + row * kPanel);
        }
    }
};

}  // namespace

template <>
void install(HalfGemm& kernels) {
    install_instruction<Vdpbf16ps>(kernels);
}

}  // namespace tapestry::kernels::TAPESTRY_ISA_NAME
