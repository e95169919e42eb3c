// C = A B of bf16 by an instruction for pairs of products: how A, B and C are cut and packed, which
// is the same for all of them.
//
// 32 x 32 of C at a time stay in registers from the first step of k to the last, so a chunk is
//
//     pack the chunk's rows of A               <= 512 KiB, stays in L2
//     for each panel of B, for each of A:      32 columns, 32 rows; all of k
//         C in registers, then bias, rounded
//
// and B is packed before, by all threads, a block of columns at a time. Neither where a chunk ends
// nor who computes it shows in an element: its operands and k decide, by the instruction's rule.
//
// An Instruction is made for each chunk, and has
//
//     void multiply(const std::uint16_t* a, const std::uint16_t* b, std::int64_t steps,
//                   std::int64_t rows, float* c) const;
//
// c [32, 32] = a panel of A times one of B, each `steps` pairs of tiles (half_pack.h); of A's rows
// the first `rows` are there, and of c's no others are looked at.
#pragma once

#include <tapestry/core/parallel.h>
#include <tapestry/ops/kernels/half_gemm.h>
#include <tapestry/ops/kernels/half_pack.h>
#include <tapestry/ops/kernels/half_vector.h>

namespace tapestry::kernels::TAPESTRY_ISA_NAME {

inline constexpr std::int64_t kPanel = 2 * kTileSide;
/// bf16 that a chunk's rows of A take at most, and a block of B.
inline constexpr std::int64_t kPackedA = 256 * 1024, kPackedB = 2048 * 1024;
/// Multiply-adds below which one thread works alone: some 4 microseconds.
inline constexpr std::int64_t kParallelWork = 4'000'000;

inline std::int64_t steps_of(std::int64_t k) { return k > 0 ? divide_up(k, kTileDepth) : 0; }
/// bf16 of a packed panel, at least one step.
inline std::int64_t panel_size(std::int64_t k) { return (k > 0 ? steps_of(k) : 1) * 2 * kTileSize; }

inline const std::uint16_t* bits_of(const Bf16* x) {
    return reinterpret_cast<const std::uint16_t*>(x);
}

/// Rows and columns of c that are there, plus the bias, to C.
inline void write_panel(const GemmArguments<Bf16>& g, std::int64_t row, std::int64_t column,
                        const float* c) {
    const std::int64_t rows = smaller(kPanel, g.m - row);
    for (std::int64_t j = column; j < smaller(column + kPanel, g.n);
         j += kTileSide, c += kTileSide) {
        const auto mask = static_cast<__mmask16>((1U << smaller(kTileSide, g.n - j)) - 1U);
        __m512 bias = _mm512_setzero_ps();
        if (g.bias != nullptr) {
            const __m256i few = _mm256_maskz_loadu_epi16(mask, bits_of(g.bias) + j);
            bias = _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(few), 16));
        }
        for (std::int64_t i = 0; i < rows; ++i) {
            __m512 sum = _mm512_load_ps(c + i * kPanel);
            if (g.bias != nullptr) sum = _mm512_add_ps(sum, bias);
            auto* const to = reinterpret_cast<std::uint16_t*>(g.c) + (row + i) * g.c_row + j;
            const Shorts half = narrowed(reinterpret_cast<Words>(sum));
            _mm256_mask_storeu_epi16(to, mask, reinterpret_cast<__m256i>(half));
        }
    }
}

/// Panels of C: [first_row, last_row) of A's by [first, last) of the block of B that begins at
/// panel `block` and is packed at b.
struct HalfChunk {
    std::int64_t first_row, last_row, first, last, block;
    const std::uint16_t* b;
};

template <class Instruction>
void multiply_chunk(const GemmArguments<Bf16>& g, const HalfChunk& chunk) {
    const std::int64_t size = panel_size(g.k), steps = steps_of(g.k);
    const std::int64_t rows = chunk.last_row - chunk.first_row;
    auto* const a = scratch_for<Room::a>().take<std::uint16_t>(rows * size);
    const Lines lines{bits_of(g.a), g.a_row, g.a_col};
    for (std::int64_t i = 0; i < rows; ++i) {
        const std::int64_t row = (chunk.first_row + i) * kPanel;
        pack_panel<false>(lines.at(row, 0), smaller(kPanel, g.m - row), g.k, a + i * size);
    }
    const Instruction instruction;
    alignas(64) float c[kPanel * kPanel];
    for (std::int64_t j = chunk.first; j < chunk.last; ++j) {
        for (std::int64_t i = 0; i < rows; ++i) {
            const std::int64_t row = (chunk.first_row + i) * kPanel;
            instruction.multiply(a + i * size, chunk.b + j * size, steps,
                                 smaller(kPanel, g.m - row), c);
            write_panel(g, row, (chunk.block + j) * kPanel, c);
        }
    }
}

template <class Instruction, class Loop>
void multiply_in_chunks(const GemmArguments<Bf16>& g, std::int64_t threads, const Loop& loop) {
    const std::int64_t size = panel_size(g.k);
    const std::int64_t panels = divide_up(g.n, kPanel), rows = divide_up(g.m, kPanel);
    const Cut blocks{panels, divide_up(panels * size, kPackedB)};
    const std::int64_t most = kPackedA / size > 1 ? kPackedA / size : 1;  // panels of A in a chunk
    const Cut down{rows, smaller(rows, divide_up(divide_up(rows, most), threads) * threads)};
    const Lines lines{bits_of(g.b), g.b_col, g.b_row};
    for (std::int64_t block = 0; block < blocks.parts; ++block) {
        const std::int64_t first = blocks.begin(block), count = blocks.size(block);
        auto* const b = scratch_for<Room::b>().take<std::uint16_t>(count * size);
        loop(count, [&](std::int64_t j) {
            const std::int64_t column = (first + j) * kPanel;
            pack_panel<true>(lines.at(column, 0), smaller(kPanel, g.n - column), g.k, b + j * size);
        });
        const Cut across{count, smaller(count, divide_up(threads, down.parts))};
        loop(down.parts * across.parts, [&](std::int64_t chunk) {
            const std::int64_t i = chunk / across.parts, j = chunk % across.parts;
            multiply_chunk<Instruction>(g, {down.begin(i), down.begin(i + 1), across.begin(j),
                                            across.begin(j + 1), first, b});
        });
    }
}

/// Steps of the panels that are multiplied again and again.
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
        asm("" ::: "memory");  // or the rounds might become one
        sum += c[round % (kPanel * kPanel)];
    }
    return sum;
}

/// The product, as HalfGemm wants it.
template <class Instruction>
void multiply_by(const GemmArguments<Bf16>& g, bool serial) {
    if (g.m <= 0 || g.n <= 0) return;
    if (serial || g.m * g.n * g.k < kParallelWork) {
        const auto loop = [](std::int64_t count, const auto& f) {
            for (std::int64_t i = 0; i < count; ++i) f(i);
        };
        return multiply_in_chunks<Instruction>(g, 1, loop);
    }
    const auto loop = [](std::int64_t count, const auto& f) { parallel_for_chunks(count, f); };
    multiply_in_chunks<Instruction>(g, num_threads(), loop);
}

template <class Instruction>
void install_instruction(HalfGemm& kernels) {
    kernels.by_instruction = multiply_by<Instruction>;
    kernels.repeat_panel = repeat_panel<Instruction>;
    kernels.panel_multiply_adds = kPanel * kPanel * kRepeatedSteps * kTileDepth;
}

}  // namespace tapestry::kernels::TAPESTRY_ISA_NAME
