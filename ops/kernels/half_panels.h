// C = A B of bf16 by an instruction for pairs of products: the blocking and packing of A, B and C,
// shared by all such instructions.
//
// A panel of 32 x 32 of C stays in registers from the first step of k to the last, so a chunk is
//
//     pack the chunk's rows of A               <= 512 KiB, stays in L2
//     for each panel of B, for each of A:      32 columns, 32 rows; all of k
//         C in registers, then bias, rounded
//
// and B is packed in advance, by all threads, a block of columns at a time. An element's bits
// depend only on its operands, k and the instruction's rule, not on chunks or threads.
//
// An Instruction is constructed for each chunk, and has
//
//     void multiply(const std::uint16_t* a, const std::uint16_t* b, std::int64_t steps,
//                   std::int64_t rows, float* c) const;
//
// c [32, 32] = a panel of A times one of B, each `steps` pairs of tiles; only the first `rows` rows
// of A are used, and only these rows of c are read.
#pragma once

#include <tapestry/ops/kernels/gemm_loops.h>
#include <tapestry/ops/kernels/gemm_pack.h>
#include <tapestry/ops/kernels/half_vector.h>
#include <tapestry/ops/kernels/matmul.h>

namespace tapestry::kernels::TAPESTRY_ISA_NAME {

// ---- tiles --------------------------------------------------------------------------------------
// Blocks of bf16 in the layouts that instructions for products of pairs read: TDPBF16PS reads whole
// tiles, VDPBF16PS rows of them.
//
// A tile is 16 rows of 64 bytes. Each row of an A tile has 32 steps of k of one row of A; each row
// of a B tile has two steps of k, interleaved for 16 columns:
//
//     A tile, row i    a[i, 0] a[i, 1] ... a[i, 31]
//     B tile, row p    b[2p, 0] b[2p+1, 0]  b[2p, 1] b[2p+1, 1] ... b[2p, 15] b[2p+1, 15]
//
// With two steps of k as one word, each layout is the 16 x 16 transpose of the other: for a matrix
// that is contiguous along k the first is a copy, for any other the second. Elements outside the
// matrix are 0.

/// Rows of a tile, and f32 columns in one.
inline constexpr std::int64_t kTileSide = 16;
/// Steps of k in a tile.
inline constexpr std::int64_t kTileDepth = 32;
/// Number of bf16 in a tile.
inline constexpr std::int64_t kTileSize = kTileSide * kTileDepth;

/// Rows of A or columns of B as lines along k: element (i, k) is at from + i * line + k * step, as
/// bf16 bits. One of the strides is 1.
struct Lines {
    const std::uint16_t* from;
    std::int64_t line, step;
    Lines at(std::int64_t i, std::int64_t k) const {
        return {from + i * line + k * step, line, step};
    }
};

/// Copies `count` contiguous lines of `depth` steps to the rows of a tile.
inline void copy_lines(const Lines& x, std::int64_t count, std::int64_t depth, std::uint16_t* to) {
    const auto mask = static_cast<__mmask32>((std::uint64_t{1} << depth) - 1);
    for (std::int64_t i = 0; i < kTileSide; ++i) {
        const __m512i row = i < count ? _mm512_maskz_loadu_epi16(mask, x.from + i * x.line)
                                      : _mm512_setzero_si512();
        _mm512_store_si512(to + i * kTileDepth, row);
    }
}

/// The same as pairs of steps, for steps that are contiguous across the lines.
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

/// Packs a tile of `count` lines and `depth` steps, in pairs (for B) or not (for A).
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
    // Words are moved as floats; loads, shuffles and stores do not interpret them.
    transpose_square(reinterpret_cast<const float*>(other), kTileSide, reinterpret_cast<float*>(to),
                     kTileSide);
}

/// Packs two tiles of lines (32, of which `count` exist) over all of k: [step][tile].
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

// ---- panels -------------------------------------------------------------------------------------

inline constexpr std::int64_t kPanel = 2 * kTileSide;
/// Maximum number of bf16 in a chunk's rows of A, and in a block of B.
inline constexpr std::int64_t kPackedA = 256 * 1024, kPackedB = 2048 * 1024;
/// Multiply-adds below which only one thread works: about 4 microseconds.
inline constexpr std::int64_t kParallelWork = 4'000'000;

/// Writes the rows and columns of c inside C, plus the bias, to C.
inline void write_panel(const HalfArguments& g, std::int64_t row, std::int64_t column,
                        const float* c) {
    const std::int64_t rows = smaller(kPanel, g.m - row);
    for (std::int64_t j = column; j < smaller(column + kPanel, g.n);
         j += kTileSide, c += kTileSide) {
        const auto mask = static_cast<__mmask16>((1U << smaller(kTileSide, g.n - j)) - 1U);
        __m512 bias = _mm512_setzero_ps();
        if (g.bias != nullptr) {
            const __m256i few = _mm256_maskz_loadu_epi16(mask, g.bias + j);
            bias = _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(few), 16));
        }
        for (std::int64_t i = 0; i < rows; ++i) {
            __m512 sum = _mm512_load_ps(c + i * kPanel);
            if (g.bias != nullptr) sum = _mm512_add_ps(sum, bias);
            std::uint16_t* const to = g.c + (row + i) * g.c_row + j;
            const Shorts half = narrowed(reinterpret_cast<Words>(sum));
            _mm256_mask_storeu_epi16(to, mask, reinterpret_cast<__m256i>(half));
        }
    }
}

using PairPass = Pass<std::uint16_t, kPanel>;

/// The format: k in whole tiles; B always packed in advance; C in registers for all of k.
template <class Instruction>
struct Pairs {
    const HalfArguments& g;

    PairPass sizes() const {
        PairPass pass;
        pass.m = g.m;
        pass.n = g.n;
        pass.depths.total = divide_up(g.k, kTileDepth) * kTileDepth;
        const std::int64_t panels = divide_up(g.n, kPanel);
        pass.strips = {panels, divide_up(panels * kPanel * pass.depths.total, kPackedB)};
        pass.packs = true;
        return pass;
    }
    void begin_strip(PairPass& pass, std::int64_t threads) const {
        const std::int64_t rows = divide_up(g.m, kPanel);
        const std::int64_t fit = kPackedA / (kPanel * pass.depths.total);
        const std::int64_t least = divide_up(rows, fit > 1 ? fit : 1);
        const std::int64_t down = smaller(rows, divide_up(least, threads) * threads);
        pass.tile_height = kPanel;
        pass.chunk_tiles = {rows, down};
        pass.chunk_panels = {pass.panels.parts,
                             smaller(pass.panels.parts, divide_up(threads, down))};
    }
    std::int64_t parts_of_b(const PairPass& pass) const { return pass.panels.parts; }
    void pack_b(const PairPass& pass, std::int64_t part, std::uint16_t* to) const {
        const Panel panel = pass.panel(part);
        const Lines lines{g.b + (pass.column + panel.first) * g.b_col, g.b_col, g.b_row};
        pack_panel<true>(lines, panel.width, g.k, to + panel.first * pass.depths.total);
    }
    void multiply(const PairPass& pass, const Chunk& chunk) const {
        const std::int64_t depth = pass.depths.total, rows = chunk.tiles.rows;
        auto* const a =
            scratch_for<Room::a>().take<std::uint16_t>(chunk.tiles.count() * kPanel * depth);
        const Lines lines{g.a + chunk.row * g.a_row, g.a_row, g.a_col};
        for (std::int64_t i = 0; i < rows; i += kPanel) {
            pack_panel<false>(lines.at(i, 0), smaller(kPanel, rows - i), g.k, a + i * depth);
        }
        const Instruction instruction;
        alignas(64) float c[kPanel * kPanel];
        pass.for_panels(chunk.first_panel, chunk.last_panel, [&](const Panel& panel) {
            for (std::int64_t i = 0; i < rows; i += kPanel) {
                instruction.multiply(a + i * depth, pass.packed + panel.first * depth,
                                     depth / kTileDepth, smaller(kPanel, rows - i), c);
                write_panel(g, chunk.row + i, pass.column + panel.first, c);
            }
        });
    }
};

/// Steps of k in the panels that repeat_panel multiplies.
inline constexpr std::int64_t kRepeatedSteps = 6;

template <class Instruction>
float repeat_panel(std::int64_t rounds) {
    constexpr std::int64_t kSize = kRepeatedSteps * 2 * kTileSize;
    constexpr std::uint16_t kOne = 0x3f80;
    alignas(64) std::uint16_t a[kSize], b[kSize];
    for (std::int64_t i = 0; i < kSize; ++i) a[i] = b[i] = kOne;
    alignas(64) float c[kPanel * kPanel];
    const Instruction instruction;
    float sum = 0;
    for (std::int64_t round = 0; round < rounds; ++round) {
        instruction.multiply(a, b, kRepeatedSteps, kPanel, c);
        asm("" ::: "memory");  // keeps the rounds from being merged
        sum += c[round % (kPanel * kPanel)];
    }
    return sum;
}

/// The product, with HalfGemm's signature.
template <class Instruction>
void multiply_by(const GemmArguments<Bf16>& halves, bool serial) {
    const HalfArguments g = bits_of(halves);
    if (g.m <= 0 || g.n <= 0) return;
    if (g.k <= 0) return gemm_of_empty_sums(g);
    const bool worth_it = g.m * g.n * g.k >= kParallelWork;
    multiply_in_chunks(Pairs<Instruction>{g}, threads_if(!serial && worth_it));
}

template <class Instruction>
void install_instruction(HalfGemm& kernels) {
    kernels.by_instruction = multiply_by<Instruction>;
    kernels.repeat_panel = repeat_panel<Instruction>;
    kernels.panel_multiply_adds = kPanel * kPanel * kRepeatedSteps * kTileDepth;
}

}  // namespace tapestry::kernels::TAPESTRY_ISA_NAME
