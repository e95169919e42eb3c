// Blocks of bf16 in the layouts that instructions for products of pairs read, TDPBF16PS whole and
// VDPBF16PS by rows.
//
// A tile is 16 rows of 64 bytes. That of A has a row of it in each, 32 steps of k; that of B has
// two steps of k in each, side by side for every one of 16 columns:
//
//     A tile, row i    a[i, 0] a[i, 1] ... a[i, 31]
//     B tile, row p    b[2p, 0] b[2p+1, 0]  b[2p, 1] b[2p+1, 1] ... b[2p, 15] b[2p+1, 15]
//
// With two steps of k taken as one word, either is a 16 x 16 transpose of the other: of a matrix
// whose runs of memory go along k the first is a copy, of any other the second. What lies beyond
// the matrix is 0.
#pragma once

#include <tapestry/ops/kernels/gemm_pack.h>

namespace tapestry::kernels::TAPESTRY_ISA_NAME {

/// Rows of a tile, and columns of f32 in one.
inline constexpr std::int64_t kTileSide = 16;
/// Steps of k in a tile.
inline constexpr std::int64_t kTileDepth = 32;
/// bf16 in a tile.
inline constexpr std::int64_t kTileSize = kTileSide * kTileDepth;

/// Lines of k: element (i, k) at from + i * line + k * step, bits of bf16. One of the two is 1.
struct Lines {
    const std::uint16_t* from;
    std::int64_t line, step;
    Lines at(std::int64_t i, std::int64_t k) const {
        return {from + i * line + k * step, line, step};
    }
};

/// `count` lines of `depth` steps as rows of a tile; lines are runs of memory.
inline void copy_lines(const Lines& x, std::int64_t count, std::int64_t depth, std::uint16_t* to) {
    const auto mask = static_cast<__mmask32>((std::uint64_t{1} << depth) - 1);
    for (std::int64_t i = 0; i < kTileSide; ++i) {
        const __m512i row = i < count ? _mm512_maskz_loadu_epi16(mask, x.from + i * x.line)
                                      : _mm512_setzero_si512();
        _mm512_store_si512(to + i * kTileDepth, row);
    }
}

/// The same as pairs of steps; steps are runs of memory, across the lines.
inline void copy_pairs(const Lines& x, std::int64_t count, std::int64_t depth, std::uint16_t* to) {
    const auto mask = static_cast<__mmask16>((1U << count) - 1U);
    const auto step = [&](std::int64_t k) {
        if (k >= depth) return _mm512_setzero_si512();
        return _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(mask, x.from + k * x.step));
    };
    for (std::int64_t p = 0; p < kTileSide; ++p) {
        const __m512i both = _mm512_or_si512(step(2 * p), _mm512_slli_epi32(step(2 * p + 1), 16));
        _mm512_store_si512(to + p * kTileDepth, both);
    }
}

/// A tile of `count` lines and `depth` steps, in pairs (B's) or not (A's).
template <bool kPairs>
void pack_tile(const Lines& x, std::int64_t count, std::int64_t depth, std::uint16_t* to) {
    const bool along = x.step == 1;
    if (along == !kPairs) {
        if (along) return copy_lines(x, count, depth, to);
        return copy_pairs(x, count, depth, to);
    }
    alignas(64) std::uint16_t other[kTileSize];
    if (along) {
        copy_lines(x, count, depth, other);
    } else {
        copy_pairs(x, count, depth, other);
    }
    // Words are moved as floats, which no load, shuffle or store looks into.
    transpose_square(reinterpret_cast<const float*>(other), kTileSide, reinterpret_cast<float*>(to),
                     kTileSide);
}

/// Two tiles of lines, 32 of which `count` are there, over all of k: [step][tile].
template <bool kPairs>
void pack_panel(const Lines& x, std::int64_t count, std::int64_t k, std::uint16_t* to) {
    for (std::int64_t begin = 0; begin < k; begin += kTileDepth) {
        const std::int64_t depth = smaller(kTileDepth, k - begin);
        for (std::int64_t i = 0; i < 2 * kTileSide; i += kTileSide, to += kTileSize) {
            const std::int64_t there = count > i ? smaller(kTileSide, count - i) : 0;
            pack_tile<kPairs>(there > 0 ? x.at(i, begin) : x, there, there > 0 ? depth : 0, to);
        }
    }
}

}  // namespace tapestry::kernels::TAPESTRY_ISA_NAME
