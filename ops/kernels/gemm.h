// C = A B: the matrix product, the kernel a Transformer spends its time in.
//
// A core can start two vector FMAs per cycle but gets only some bytes per cycle from memory, so
// everything here serves one aim: each number fetched from a cache is used often before it leaves.
//
//     for each block of <= 2048 columns of B, for each block of <= 512 rows of it (kBlockK):
//         pack that block of B: [panel][k][lane], a panel being one tile wide       all threads
//         for each chunk of C, <= 192 rows (768 bytes) by <= 512 columns:           all threads
//             for each panel of the chunk, for each tile of C in it:
//                 multiply_tile: sums over the block's k in registers, then C += sums
//
//   registers  the tile of C, 6 x 4 vectors on AVX-512: see gemm_tile.h.
//   L1         the 6 rows of A of a tile, 12 KiB, and what comes next of the panel of B.
//   L2         the panel, <= 128 KiB, read again for each tile of the chunk at 21 bytes a cycle of
//              the 64 L2 delivers; and the chunk's rows of A, 384 KiB, read again for each panel.
//              Half of the 1 MiB that AVX-512 cores have; where L2 is smaller, tiles are narrower
//              (the panel is 32 KiB on AVX2) and L3 delivers A in time.
//   L3         the packed block of B, <= 4 MiB of floats, read once per chunk row.
//
// A long k is what pays for the traffic of C (once in and out per block of k); a wide chunk for
// that of A, a high one for that of B. Measured at 2048^3, one thread of Zen 5, against a ceiling
// of 264 GFLOP/s: kBlockK 256 gives 221, 512 gives 240, 1024 gives 238; with 192 x 512 chunks
// instead of 96 x 256, 246.
//
// A row or a few go another way: gemm_few_rows.h. Otherwise B is packed: it costs 2% at 64 rows of
// A (9% where it is transposed on the way), settles transposition and ragged edges (padded with
// zeros) at once, and lets the tile read it in one stream. A is read in place, one number at a
// time, so its strides hardly matter; but see read_a.
//
// What an element's bits depend on: the sums over each block of k run in the order of k, whatever
// tile or chunk the element falls in, and blocks are added in order. The number of threads, and
// even where the chunks are cut, leave no trace.
#pragma once

#include <tapestry/core/parallel.h>
#include <tapestry/ops/kernels/gemm_arguments.h>
#include <tapestry/ops/kernels/gemm_few_rows.h>
#include <tapestry/ops/kernels/gemm_pack.h>
#include <tapestry/ops/kernels/gemm_tile.h>

namespace tapestry::kernels::TAPESTRY_ISA_NAME {

inline constexpr std::int64_t kBlockK = 512;
inline constexpr std::int64_t kBlockColumns = 2048;
inline constexpr std::int64_t kChunkColumns = 512;
template <class T>
inline constexpr std::int64_t kChunkRows = 768 / sizeof(T);

inline constexpr std::int64_t kCopiedRows = 64;

/// Multiply-adds below which one thread works alone: 10^6 take it 8 microseconds. A second thread
/// pays from 0.3 * 10^6 on an idle machine (1.4 times as fast at 10^6), on a busy one from 2 *
/// 10^6.
inline constexpr std::int64_t kParallelWork = 1'000'000;
/// Elements of B below which packing is not worth waking the threads for.
inline constexpr std::int64_t kParallelPack = 32'768;
/// Chunks to share among threads, where rows and columns are enough.
inline constexpr std::int64_t kParallelChunks = 16;

constexpr std::int64_t smaller(std::int64_t x, std::int64_t y) { return x < y ? x : y; }

constexpr std::int64_t divide_up(std::int64_t x, std::int64_t y) { return (x + y - 1) / y; }

/// `total` things in `parts` runs whose lengths differ by one at most: 513 is 257 + 256, not 512
/// and a runt that costs a pass over C.
struct Cut {
    std::int64_t total = 0, parts = 1;
    std::int64_t begin(std::int64_t part) const { return total * part / parts; }
    std::int64_t size(std::int64_t part) const { return begin(part + 1) - begin(part); }
};

/// One pass of the outer loops: a block of B, and how C is cut meanwhile.
template <class T>
struct Pass {
    const GemmArguments<T>& g;
    std::int64_t k = 0, depth = 0;       // rows of B: k .. k + depth
    std::int64_t column = 0, width = 0;  // columns of B and C: column .. column + width
    T* packed = nullptr;
    Cut panels{};        // the vectors the width takes, into panels
    Cut chunk_rows{};    // the rows of C, into chunks
    Cut chunk_panels{};  // the panels, into chunks
};

inline Scratch& scratch_for_a() {
    static thread_local Scratch scratch;
    return scratch;
}

inline Scratch& scratch_for_b() {
    static thread_local Scratch scratch;
    return scratch;
}

template <class T>
void pack_panel(const Pass<T>& pass, std::int64_t panel) {
    const GemmArguments<T>& g = pass.g;
    const std::int64_t first = pass.panels.begin(panel) * kLanes<T>;
    const std::int64_t padded = pass.panels.size(panel) * kLanes<T>;
    const std::int64_t width = smaller(padded, pass.width - first);
    T* const to = pass.packed + first * pass.depth;
    copy_block(g.b + pass.k * g.b_row + (pass.column + first) * g.b_col, g.b_row, g.b_col, to,
               padded, pass.depth, width);
    if (width == padded) return;
    for (std::int64_t i = 0; i < pass.depth; ++i) {
        for (std::int64_t j = width; j < padded; ++j) to[i * padded + j] = T(0);
    }
}

/// Is each step of k in A on another page, as in W' = Y^T X? Then all fall into a few sets of the
/// cache: AVX2 makes 175 of 265 GFLOP/s at 1024^3, and 240 with the block copied together. The
/// copy is repaid by the columns that use it.
template <class T>
bool copies_a(const GemmArguments<T>& g, std::int64_t width) {
    constexpr std::int64_t kFarBytes = 2048, kEnoughColumns = 256;
    return g.a_col >= kFarBytes / static_cast<std::int64_t>(sizeof(T)) && width >= kEnoughColumns;
}

/// Points the tile at `rows` rows of A: in place, as a rule, for a copy costs more than it saves.
template <class T>
void read_a(const Pass<T>& pass, std::int64_t row, std::int64_t rows, Tile<T>& tile) {
    const GemmArguments<T>& g = pass.g;
    tile.a = g.a + row * g.a_row + pass.k * g.a_col;
    tile.a_row = g.a_row;
    tile.a_col = g.a_col;
    if (!copies_a(g, pass.width)) return;
    T* const to = scratch_for_a().template take<T>(rows * pass.depth);
    copy_block(tile.a, g.a_col, g.a_row, to, rows, pass.depth, rows);
    tile.a = to;
    tile.a_row = 1;
    tile.a_col = rows;
}

template <class T, int Vectors = kTileVectors>
void multiply_panel(std::int64_t vectors, std::int64_t rows, Tile<T> tile) {
    if constexpr (Vectors > 1) {
        if (vectors < Vectors) return multiply_panel<T, Vectors - 1>(vectors, rows, tile);
    }
    const Cut tiles{rows, divide_up(rows, tile_rows(Vectors))};
    for (std::int64_t i = 0; i < tiles.parts; ++i) {
        const std::int64_t size = tiles.size(i);
        multiply_tile_of<T, Vectors>(size, tile);
        tile.a += size * tile.a_row;
        tile.c += size * tile.c_row;
    }
}

template <class T>
void multiply_chunk(const Pass<T>& pass, std::int64_t chunk) {
    const GemmArguments<T>& g = pass.g;
    const std::int64_t down = chunk / pass.chunk_panels.parts;
    const std::int64_t across = chunk % pass.chunk_panels.parts;
    const std::int64_t row = pass.chunk_rows.begin(down), rows = pass.chunk_rows.size(down);
    Tile<T> tile;
    tile.k = pass.depth;
    tile.c_row = g.c_row;
    tile.accumulate = g.accumulate || pass.k > 0;
    read_a(pass, row, rows, tile);
    const std::int64_t end = pass.chunk_panels.begin(across + 1);
    for (std::int64_t panel = pass.chunk_panels.begin(across); panel < end; ++panel) {
        const std::int64_t vectors = pass.panels.size(panel);
        const std::int64_t first = pass.panels.begin(panel) * kLanes<T>;
        const std::int64_t last = first + (vectors - 1) * kLanes<T>;
        tile.b = pass.packed + first * pass.depth;
        tile.c = g.c + row * g.c_row + pass.column + first;
        if (g.bias != nullptr && pass.k == 0) tile.bias = g.bias + pass.column + first;
        tile.last_lanes = smaller(pass.width - last, kLanes<T>);
        multiply_panel(vectors, rows, tile);
    }
}

/// Chunks as large as the caches like them, halved while the threads could do with more: along m,
/// for no column of B need then be fetched twice by a core, down to 16 rows; then along n. Where A
/// is copied, each row of it once: chunks as wide as the pass, and of 64 rows at least.
template <class T>
void cut_into_chunks(std::int64_t wanted, Pass<T>& pass) {
    const std::int64_t rows = pass.g.m, panels = pass.panels.parts;
    const bool once = copies_a(pass.g, pass.width) && rows >= kCopiedRows * wanted / 2;
    std::int64_t down = divide_up(rows, once ? kCopiedRows : kChunkRows<T>);
    std::int64_t across = once ? 1 : smaller(divide_up(pass.width, kChunkColumns), panels);
    while (!once && down * across < wanted && rows >= 32 * down) down *= 2;
    while (!once && down * across < wanted && panels >= 2 * across) across *= 2;
    pass.chunk_rows = {rows, down};
    pass.chunk_panels = {panels, across};
}

/// Nothing to add up: C = (accumulate ? C : 0) + bias.
template <class T>
void gemm_of_empty_sums(const GemmArguments<T>& g) {
    if (g.accumulate && g.bias == nullptr) return;
    for (std::int64_t i = 0; i < g.m; ++i) {
        for (std::int64_t j = 0; j < g.n; ++j) {
            T& c = g.c[i * g.c_row + j];
            c = (g.accumulate ? c : T(0)) + (g.bias != nullptr ? g.bias[j] : T(0));
        }
    }
}

/// The whole product. loop(count, f) calls f(0 .. count - 1), in any order, on any threads.
template <class T, class Loop>
void gemm_in_blocks(const GemmArguments<T>& g, std::int64_t wanted_chunks, const Loop& loop) {
    if (g.m <= 0 || g.n <= 0) return;
    if (g.k <= 0) return gemm_of_empty_sums(g);
    const Cut depths{g.k, divide_up(g.k, kBlockK)};
    const Cut widths{divide_up(g.n, kLanes<T>), divide_up(g.n, kBlockColumns)};
    Pass<T> pass{g};
    for (std::int64_t j = 0; j < widths.parts; ++j) {
        pass.column = widths.begin(j) * kLanes<T>;
        pass.width = smaller(widths.size(j) * kLanes<T>, g.n - pass.column);
        pass.panels = {widths.size(j), divide_up(widths.size(j), kTileVectors)};
        cut_into_chunks(wanted_chunks, pass);
        for (std::int64_t i = 0; i < depths.parts; ++i) {
            pass.k = depths.begin(i);
            pass.depth = depths.size(i);
            pass.packed = scratch_for_b().template take<T>(widths.size(j) * kLanes<T> * pass.depth);
            const auto pack = [&pass](std::int64_t panel) { pack_panel(pass, panel); };
            if (pass.width * pass.depth < kParallelPack) {
                for (std::int64_t panel = 0; panel < pass.panels.parts; ++panel) pack(panel);
            } else {
                loop(pass.panels.parts, pack);
            }
            loop(pass.chunk_rows.parts * pass.chunk_panels.parts,
                 [&pass](std::int64_t chunk) { multiply_chunk(pass, chunk); });
        }
    }
}

/// The product on the calling thread alone, for callers already inside a parallel loop.
template <class T>
void gemm_serial(const GemmArguments<T>& g) {
    const auto loop = [](std::int64_t count, const auto& f) {
        for (std::int64_t i = 0; i < count; ++i) f(i);
    };
    if (has_few_rows(g)) return gemm_of_few_rows(g, loop);
    gemm_in_blocks(g, 1, loop);
}

/// The product on all threads, if it is large enough to be worth it. Same bits as gemm_serial.
template <class T>
void gemm(const GemmArguments<T>& g) {
    const bool few = has_few_rows(g);
    const bool worth_it = few ? g.n * g.k >= kParallelReading : g.m * g.n * g.k >= kParallelWork;
    if (!worth_it) return gemm_serial(g);
    const auto loop = [](std::int64_t count, const auto& f) { parallel_for_chunks(count, f); };
    if (few) return gemm_of_few_rows(g, loop);
    gemm_in_blocks(g, kParallelChunks, loop);
}

}  // namespace tapestry::kernels::TAPESTRY_ISA_NAME
