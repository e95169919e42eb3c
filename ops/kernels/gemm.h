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
//   L3         the block of B, <= 4 MiB of floats, read once per row of chunks.
//
// A long k is what pays for the traffic of C (once in and out per block of k); a wide chunk for
// that of A, a high one for that of B. Measured at 2048^3, one thread of Zen 5, against a peak
// of 264 GFLOP/s: kBlockK 256 gives 221, 512 gives 240, 1024 gives 238; with 192 x 512 chunks
// instead of 96 x 256, 246.
//
// A row or a few go another way: gemm_few_rows.h. Otherwise B is packed, which settles
// transposition and ragged edges (padded with zeros) and lets the tile read it in one stream,
// unless B is as the tile likes it already: whole vectors in rows near each other
// (reads_b_in_place).
//
// A is read in place, one number at a time, so its strides hardly matter (but see copies_a). What
// does matter is that nobody has read it yet: in a training step A comes from the L3 cache, and a
// tile would wait for it row by row. So each tile of the first panel asks for the rows of the next
// (gemm_ahead.h): 512 x 128 x 768 (C = A^T B) went from 80% to 93% of a Zen 4 core.
//
// What an element's bits depend on: the sums over each block of k run in the order of k, whatever
// tile or chunk the element falls in, and blocks are added in order. The number of threads, and
// even where the chunks are cut, leave no trace.
#pragma once

#include <tapestry/core/parallel.h>
#include <tapestry/core/thread_exit.h>
#include <tapestry/ops/kernels/gemm_ahead.h>
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

/// Multiply-adds below which one thread works alone: those of 64 x 64 x 64 take it 5 microseconds
/// on Zen 4, and a loop is handed over in 0.2.
inline constexpr std::int64_t kParallelWork = 250'000;
/// Elements of B below which packing is not worth waking the threads for.
inline constexpr std::int64_t kParallelPack = 32'768;
/// Chunks for each thread, where rows and columns are enough: one that is late then costs an
/// eighth. Fewer are larger, and B comes from the L3 cache once for each.
inline constexpr std::int64_t kChunksPerThread = 4;

/// One pass of the outer loops: a block of B, and how C is cut meanwhile.
template <class T>
struct Pass {
    const GemmArguments<T>& g;
    std::int64_t k = 0, depth = 0;       // rows of B: k .. k + depth
    std::int64_t column = 0, width = 0;  // columns of B and C: column .. column + width
    const T* packed = nullptr;           // null: B is read in place
    Cut panels{};                        // the vectors the width takes, into panels
    std::int64_t tile_height = 1;
    Cut chunk_tiles{};   // the rows of C, counted in tiles, into chunks
    Cut chunk_panels{};  // the panels, into chunks
};

inline Scratch& scratch_for_a() {
    static thread_local Scratch* scratch = nullptr;
    return of_this_thread(scratch);
}

inline Scratch& scratch_for_b() {
    static thread_local Scratch* scratch = nullptr;
    return of_this_thread(scratch);
}

/// Can the tile read B where it is? Its rows must be whole vectors and near each other. For very
/// many rows of A packing pays all the same, unless half of L2 holds a block of B.
template <class T>
bool reads_b_in_place(const GemmArguments<T>& g) {
    constexpr std::int64_t kNearBytes = 2048, kBlockBytes = 512 * 1024, kVeryMany = 1024;
    const std::int64_t row_bytes = g.b_row * static_cast<std::int64_t>(sizeof(T));
    return g.b_col == 1 && g.n % kLanes<T> == 0 && row_bytes <= kNearBytes &&
           (g.m < kVeryMany || row_bytes * smaller(g.k, kBlockK) <= kBlockBytes);
}

template <class T>
void pack_panel(const Pass<T>& pass, T* packed, std::int64_t panel) {
    const GemmArguments<T>& g = pass.g;
    const std::int64_t first = pass.panels.begin(panel) * kLanes<T>;
    const std::int64_t padded = pass.panels.size(panel) * kLanes<T>;
    const std::int64_t width = smaller(padded, pass.width - first);
    T* const to = packed + first * pass.depth;
    copy_block(g.b + pass.k * g.b_row + (pass.column + first) * g.b_col, g.b_row, g.b_col, to,
               padded, pass.depth, width);
    if (width == padded) return;
    for (std::int64_t i = 0; i < pass.depth; ++i) {
        for (std::int64_t j = width; j < padded; ++j) to[i * padded + j] = T(0);
    }
}

/// Is each step of k in A on another page, as in W' = Y^T X, and read again for many panels? Then
/// all fall into a few sets of the cache: AVX2 makes 175 of 265 GFLOP/s at 1024^3, and 240 with the
/// block copied together.
template <class T>
bool copies_a(const GemmArguments<T>& g, std::int64_t panels) {
    constexpr std::int64_t kFarBytes = 2048, kManyPanels = 16;
    return g.a_col * static_cast<std::int64_t>(sizeof(T)) >= kFarBytes && panels >= kManyPanels;
}

/// Points the tile at the rows of A from `row` on.
template <class T>
void read_a(const Pass<T>& pass, std::int64_t row, const Tiles& tiles, Tile<T>& tile) {
    const GemmArguments<T>& g = pass.g;
    tile.a = g.a + row * g.a_row + pass.k * g.a_col;
    tile.a_row = g.a_row;
    tile.a_col = g.a_col;
    if (!copies_a(g, pass.chunk_panels.size(0))) return;
    T* const to = scratch_for_a().template take<T>(tiles.rows * pass.depth);
    copy_block(tile.a, g.a_col, g.a_row, to, tiles.rows, pass.depth, tiles.rows);
    tile.a = to;
    tile.a_row = 1;
    tile.a_col = tiles.rows;
}

/// Points the tile at the panel of B that begins `first` columns into the pass.
template <class T>
void read_b(const Pass<T>& pass, std::int64_t first, std::int64_t vectors, Tile<T>& tile) {
    if (pass.packed == nullptr) {
        tile.b = pass.g.b + pass.k * pass.g.b_row + pass.column + first;
        tile.b_row = pass.g.b_row;
    } else {
        tile.b = pass.packed + first * pass.depth;
        tile.b_row = vectors * kLanes<T>;
    }
}

template <class T, int Vectors = kTileVectors>
void multiply_panel(std::int64_t vectors, const Tiles& tiles, Tile<T> tile, const Ahead<T>& ahead) {
    if constexpr (Vectors > 1) {
        if (vectors < Vectors) return multiply_panel<T, Vectors - 1>(vectors, tiles, tile, ahead);
    }
    for (std::int64_t i = 0; i < tiles.count(); ++i) {
        tile.fetch = ahead.during(i, tiles.height, tile.k);
        multiply_tile_of<T, Vectors>(tiles.size(i), tile);
        tile.a += tiles.height * tile.a_row;
        tile.c += tiles.height * tile.c_row;
    }
}

template <class T>
void multiply_chunk(const Pass<T>& pass, std::int64_t chunk) {
    const GemmArguments<T>& g = pass.g;
    const std::int64_t down = chunk / pass.chunk_panels.parts;
    const std::int64_t across = chunk % pass.chunk_panels.parts;
    const std::int64_t row = pass.chunk_tiles.begin(down) * pass.tile_height;
    const std::int64_t end = smaller(g.m, pass.chunk_tiles.begin(down + 1) * pass.tile_height);
    const Tiles tiles{end - row, pass.tile_height};
    Tile<T> tile;
    tile.k = pass.depth;
    tile.c_row = g.c_row;
    tile.accumulate = g.accumulate || pass.k > 0;
    read_a(pass, row, tiles, tile);
    const bool copied = copies_a(g, pass.chunk_panels.size(0));
    Ahead<T> ahead = copied ? Ahead<T>() : Ahead<T>(tile);  // a copy is in the cache
    const std::int64_t last_panel = pass.chunk_panels.begin(across + 1);
    for (std::int64_t panel = pass.chunk_panels.begin(across); panel < last_panel; ++panel) {
        const std::int64_t vectors = pass.panels.size(panel);
        const std::int64_t first = pass.panels.begin(panel) * kLanes<T>;
        const std::int64_t last = first + (vectors - 1) * kLanes<T>;
        read_b(pass, first, vectors, tile);
        tile.c = g.c + row * g.c_row + pass.column + first;
        if (g.bias != nullptr && pass.k == 0) tile.bias = g.bias + pass.column + first;
        tile.last_lanes = smaller(pass.width - last, kLanes<T>);
        multiply_panel(vectors, tiles, tile, ahead);
        ahead = {};
    }
}

/// Chunks as large as the caches like them, halved while the threads could do with more: along m,
/// for no column of B need then be fetched twice by a core, down to two tiles; then along n.
template <class T>
void cut_into_chunks(std::int64_t wanted, Pass<T>& pass) {
    const std::int64_t panels = pass.panels.parts;
    pass.tile_height = tile_rows(static_cast<int>(divide_up(pass.panels.total, panels)));
    const std::int64_t tiles = divide_up(pass.g.m, pass.tile_height);
    std::int64_t down = divide_up(pass.g.m, kChunkRows<T>);
    std::int64_t across = smaller(divide_up(pass.width, kChunkColumns), panels);
    while (down * across < wanted && tiles >= 4 * down) down *= 2;
    while (down * across < wanted && panels >= 2 * across) across *= 2;
    pass.chunk_tiles = {tiles, down};
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

template <class T, class Loop>
void pack_b(Pass<T>& pass, const Loop& loop) {
    const std::int64_t elements = pass.panels.total * kLanes<T> * pass.depth;
    T* const to = scratch_for_b().template take<T>(elements);
    const auto pack = [&pass, to](std::int64_t panel) { pack_panel(pass, to, panel); };
    if (elements >= kParallelPack) {
        loop(pass.panels.parts, pack);
    } else {
        for (std::int64_t panel = 0; panel < pass.panels.parts; ++panel) pack(panel);
    }
    pass.packed = to;
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
            if (!reads_b_in_place(g)) pack_b(pass, loop);
            loop(pass.chunk_tiles.parts * pass.chunk_panels.parts,
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
    gemm_in_blocks(g, kChunksPerThread * num_threads(), loop);
}

}  // namespace tapestry::kernels::TAPESTRY_ISA_NAME
