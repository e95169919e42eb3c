// C = A B of bf16 by AMX's tiles: sixteen times the multiply-adds of AVX-512 in f32. Compiled for
// the ISA amx alone, whose other kernels are those of AVX-512 (table.cpp).
//
// Two tiles of A by two of B: 32 x 32 of C stay in four tiles of f32 from the first step of k to
// the last, and each tile that is read is used twice. So a chunk is
//
//     pack the chunk's rows of A               <= 512 KiB, stays in L2
//     for each panel of B, for each of A:      32 columns, 32 rows; all of k
//         C in tiles, then bias, rounded
//
// and B is packed before, by all threads, a block of columns at a time.
//
// What an element's bits depend on: TDPBF16PS adds up the even steps of k of a tile's 32 apart from
// the odd ones, in order, each product and sum fused; then both, then to what was there. So k and
// the operands decide, whatever tile or thread the element falls in. Subnormal numbers count as 0.
// Source: Intel, "Architecture Instruction Set Extensions Programming Reference", TDPBF16PS.
#include <tapestry/core/parallel.h>
#include <tapestry/core/thread_exit.h>
#include <tapestry/ops/kernels/amx_pack.h>
#include <tapestry/ops/kernels/half_gemm.h>
#include <tapestry/ops/kernels/half_vector.h>

namespace tapestry::kernels::TAPESTRY_ISA_NAME {
namespace {

constexpr std::int64_t kPanel = 2 * kTileSide;
/// bf16 that a chunk's rows of A take at most, and a block of B.
constexpr std::int64_t kPackedA = 256 * 1024, kPackedB = 2048 * 1024;
/// Multiply-adds below which one thread works alone: some 4 microseconds.
constexpr std::int64_t kParallelWork = 4'000'000;

struct TileConfig {
    std::uint8_t palette = 1, start = 0, reserved[14] = {};
    std::uint16_t bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
    std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

Scratch& scratch_for_a() {
    static thread_local Scratch* scratch = nullptr;
    return of_this_thread(scratch);
}

Scratch& scratch_for_b() {
    static thread_local Scratch* scratch = nullptr;
    return of_this_thread(scratch);
}

std::int64_t steps_of(std::int64_t k) { return k > 0 ? divide_up(k, kTileDepth) : 0; }
/// bf16 of a packed panel, at least one step.
std::int64_t panel_size(std::int64_t k) { return (k > 0 ? steps_of(k) : 1) * 2 * kTileSize; }

const std::uint16_t* bits_of(const Bf16* x) { return reinterpret_cast<const std::uint16_t*>(x); }

/// c [32, 32] = a panel of A times one of B.
void multiply_panels(const std::uint16_t* a, const std::uint16_t* b, std::int64_t steps, float* c) {
    constexpr int kLine = 2 * kTileDepth;  // bytes
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    for (std::int64_t s = 0; s < steps; ++s, a += 2 * kTileSize, b += 2 * kTileSize) {
        _tile_loadd(4, a, kLine);
        _tile_loadd(5, a + kTileSize, kLine);
        _tile_loadd(6, b, kLine);
        _tile_loadd(7, b + kTileSize, kLine);
        _tile_dpbf16ps(0, 4, 6);
        _tile_dpbf16ps(1, 4, 7);
        _tile_dpbf16ps(2, 5, 6);
        _tile_dpbf16ps(3, 5, 7);
    }
    constexpr int kRow = 4 * kPanel;
    _tile_stored(0, c, kRow);
    _tile_stored(1, c + kTileSide, kRow);
    _tile_stored(2, c + kTileSide * kPanel, kRow);
    _tile_stored(3, c + kTileSide * kPanel + kTileSide, kRow);
}

/// Rows and columns of c that are there, plus the bias, to C.
void write_panel(const GemmArguments<Bf16>& g, std::int64_t row, std::int64_t column,
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
struct Chunk {
    std::int64_t first_row, last_row, first, last, block;
    const std::uint16_t* b;
};

void multiply_chunk(const GemmArguments<Bf16>& g, const Chunk& chunk) {
    const std::int64_t size = panel_size(g.k), steps = steps_of(g.k);
    const std::int64_t rows = chunk.last_row - chunk.first_row;
    auto* const a = scratch_for_a().take<std::uint16_t>(rows * size);
    const Lines lines{bits_of(g.a), g.a_row, g.a_col};
    for (std::int64_t i = 0; i < rows; ++i) {
        const std::int64_t row = (chunk.first_row + i) * kPanel;
        pack_panel<false>(lines.at(row, 0), smaller(kPanel, g.m - row), g.k, a + i * size);
    }
    const TileConfig config;
    _tile_loadconfig(&config);
    alignas(64) float c[kPanel * kPanel];
    for (std::int64_t j = chunk.first; j < chunk.last; ++j) {
        for (std::int64_t i = 0; i < rows; ++i) {
            multiply_panels(a + i * size, chunk.b + j * size, steps, c);
            write_panel(g, (chunk.first_row + i) * kPanel, (chunk.block + j) * kPanel, c);
        }
    }
    _tile_release();
}

template <class Loop>
void multiply_in_chunks(const GemmArguments<Bf16>& g, std::int64_t threads, const Loop& loop) {
    const std::int64_t size = panel_size(g.k);
    const std::int64_t panels = divide_up(g.n, kPanel), rows = divide_up(g.m, kPanel);
    const Cut blocks{panels, divide_up(panels * size, kPackedB)};
    const std::int64_t most = kPackedA / size > 1 ? kPackedA / size : 1;  // panels of A in a chunk
    const Cut down{rows, smaller(rows, divide_up(divide_up(rows, most), threads) * threads)};
    const Lines lines{bits_of(g.b), g.b_col, g.b_row};
    for (std::int64_t block = 0; block < blocks.parts; ++block) {
        const std::int64_t first = blocks.begin(block), count = blocks.size(block);
        auto* const b = scratch_for_b().take<std::uint16_t>(count * size);
        loop(count, [&](std::int64_t j) {
            const std::int64_t column = (first + j) * kPanel;
            pack_panel<true>(lines.at(column, 0), smaller(kPanel, g.n - column), g.k, b + j * size);
        });
        const Cut across{count, smaller(count, divide_up(threads, down.parts))};
        loop(down.parts * across.parts, [&](std::int64_t chunk) {
            const std::int64_t i = chunk / across.parts, j = chunk % across.parts;
            multiply_chunk(g, {down.begin(i), down.begin(i + 1), across.begin(j),
                               across.begin(j + 1), first, b});
        });
    }
}

void multiply(const GemmArguments<Bf16>& g, bool serial) {
    if (g.m <= 0 || g.n <= 0) return;
    if (serial || g.m * g.n * g.k < kParallelWork) {
        const auto loop = [](std::int64_t count, const auto& f) {
            for (std::int64_t i = 0; i < count; ++i) f(i);
        };
        return multiply_in_chunks(g, 1, loop);
    }
    const auto loop = [](std::int64_t count, const auto& f) { parallel_for_chunks(count, f); };
    multiply_in_chunks(g, num_threads(), loop);
}

}  // namespace

template <>
void install(HalfGemm& kernels) {
    kernels = {multiply};
}

}  // namespace tapestry::kernels::TAPESTRY_ISA_NAME
