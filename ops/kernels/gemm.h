// C = A B: the matrix product, the kernel in which a Transformer spends its time.
//
// A core can start two vector FMAs per cycle but gets only a few bytes per cycle from memory, so
// everything here has one aim: to use each number fetched from a cache many times before it is
// evicted.
//
//     for each chunk of C, <= 192 rows (768 bytes):                                 all threads
//         for each block of <= 512 steps of k (kBlockK):
//             for each panel of B in it, a tile wide, for each tile of C in that:
//                 multiply_tile: sums over the block's k in registers, then C += sums
//
//   registers  the tile of C, 6 x 4 or 14 x 2 vectors on AVX-512: see gemm_tile.h.
//   L1         the tile's rows of A, 12 or 28 KiB, and what comes next of the panel of B.
//   L2         the panel, <= 128 KiB, read again for each tile of the chunk; and the chunk's rows
//              of A, or a copy, 384 KiB, read again for each panel. Half of the 1 MiB that
//              AVX-512 cores have; where L2 is smaller, tiles are narrower (the panel is 32 KiB on
//              AVX2) and L3 delivers A in time.
//   beyond     B, once for each chunk, and C, once in and out for each block of k.
//
// A long block of k amortises the traffic of C, a tall chunk that of B. Measured at 2048^3, one
// thread of Zen 5, against a peak of 264 GFLOP/s: kBlockK 256 gives 221, 512 gives 240, 1024 gives
// 238.
//
// For one or a few rows of A see gemm_few_rows.h, for the outer loops gemm_loops.h. Otherwise rows
// of A are read in place. B, or columns of A, are packed in the order of the loop, each part by the
// first tile that reads it, while it computes: if a chunk has few tiles, packing in advance took
// 12% of the time. There are two exceptions: a B with contiguous columns (C = A B^T) is transposed
// a panel at a time before its first tile; and for very many rows of A, where each chunk would copy
// B, B is packed once, by all threads.
//
// Prefetching far ahead (whole panels of B and blocks of A into L2) was tried and gained nothing on
// an Intel server: the first tile waited less but the others more, because prefetches occupy the
// fill buffers through which they read L2.
//
// Chunks are first as many as threads, or a multiple, and as nearly square as possible, which
// minimises repeated reads of A and B. Long ones are cut further across the columns, which costs no
// more copies of B: a descheduled thread delays one chunk; the others take the rest. On a shared
// Intel server, where threads waited 5% of their time for each other, a training step of 135
// million parameters took 7% less processor time.
//
// What an element's bits depend on: the sums over each block of k run in the order of k, in any
// tile or chunk, and blocks are added in order. Bits depend neither on the number of threads nor on
// the cut into chunks.
#pragma once

#include <tapestry/ops/kernels/gemm_few_rows.h>
#include <tapestry/ops/kernels/gemm_loops.h>
#include <tapestry/ops/kernels/gemm_pack.h>
#include <tapestry/ops/kernels/gemm_tile.h>
#include <tapestry/ops/kernels/matmul.h>

namespace tapestry::kernels::TAPESTRY_ISA_NAME {

inline constexpr std::int64_t kBlockK = 512;
/// Columns of a B packed in advance, per pass.
inline constexpr std::int64_t kBlockColumns = 2048;
/// From this many rows of A on, B is packed in advance: about six chunks would copy it.
inline constexpr std::int64_t kVeryManyRows = 1024;
template <class T>
inline constexpr std::int64_t kChunkRows = 768 / sizeof(T);

/// Elements that stay in L1 while others stream through: half of the smallest L1.
template <class T>
inline constexpr std::int64_t kInL1 = 16'384 / sizeof(T);

/// Multiply-adds below which only one thread works: 64 x 64 x 64 takes it 5 microseconds on Zen 4,
/// and starting a parallel loop takes 0.2.
inline constexpr std::int64_t kParallelWork = 250'000;

/// Multiply-adds and columns of a chunk that is still worth dividing: about half a millisecond, and
/// enough columns that a copy of the rows of A costs little compared with them.
inline constexpr std::int64_t kEvenWork = 16'000'000;
template <Order order>
inline constexpr std::int64_t kEvenColumns = order == Order::columns ? 512 : 256;

/// A pass of a product by tiles of T.
template <class T>
using TilePass = Pass<T, kLanes<T>>;

// ---- sizes --------------------------------------------------------------------------------------

template <class T>
Threads threads_for(const GemmArguments<T>& g, bool serial) {
    const bool few = has_few_rows(g);
    const bool worth_it = few ? g.n * g.k >= kParallelReading : g.m * g.n * g.k >= kParallelWork;
    return threads_if(!serial && worth_it);
}

/// The sizes of a product by tiles of T.
template <class T, Order order, class S>
TilePass<T> sizes_of_tiles(const GemmArguments<S>& g, bool packs, std::int64_t strips) {
    TilePass<T> pass;
    pass.m = g.m;
    pass.n = g.n;
    pass.widest = kTileVectors<order>;
    pass.strips = {divide_up(g.n, kLanes<T>), strips};
    pass.depths = {g.k, divide_up(g.k, kBlockK)};
    pass.packs = packs;
    return pass;
}

/// Chooses the number of chunks, down and across, that minimises the work of the busiest thread.
/// Copying a row of A or a column of B costs about as much as multiplying by kCopyRow columns or
/// kCopyColumn rows; where chunks meet in a row of C, two threads write to neighbouring lines,
/// which costs kSeam columns.
template <class T, Order order>
void cut_into_chunks(std::int64_t threads, TilePass<T>& pass) {
    constexpr std::int64_t kCopyRow = 24, kCopyColumn = 8, kSeam = 8;
    const std::int64_t panels = pass.panels.parts, widest = divide_up(pass.panels.total, panels);
    pass.tile_height = tile_rows<order>(static_cast<int>(widest));
    const std::int64_t tiles = divide_up(pass.m, pass.tile_height);
    const std::int64_t least_down = divide_up(pass.m, kChunkRows<T>);
    if (threads == 1) {
        pass.chunk_tiles = {tiles, least_down};
        pass.chunk_panels = {panels, 1};
        return;
    }
    std::int64_t least_cost = -1;
    for (std::int64_t down = least_down; down < least_down + threads && down <= tiles; ++down) {
        const std::int64_t across = smaller(divide_up(threads, down), panels);
        const std::int64_t rows = divide_up(tiles, down) * pass.tile_height;
        const std::int64_t columns = divide_up(panels, across) * widest * kLanes<T>;
        const std::int64_t around = kCopyRow + (across > 1 ? kSeam : 0);
        const std::int64_t cost = divide_up(down * across, threads) *
                                  (rows * columns + around * rows + kCopyColumn * columns);
        if (least_cost >= 0 && cost >= least_cost) continue;
        least_cost = cost;
        pass.chunk_tiles = {tiles, down};
        pass.chunk_panels = {panels, across};
    }
    // More chunks than threads: one that is delayed leaves some to the others.
    const std::int64_t depth = pass.packs ? pass.longest_depth() : pass.depths.total;
    const std::int64_t work = pass.m * pass.width * depth / pass.chunk_tiles.parts;
    const std::int64_t parts = smaller(work / kEvenWork, pass.width / kEvenColumns<order>);
    if (parts > pass.chunk_panels.parts) pass.chunk_panels.parts = smaller(parts, panels);
}

// ---- a chunk ------------------------------------------------------------------------------------

/// Hooks before and after each tile of a panel, and after the panel; these do nothing.
struct NothingAround {
    template <class T>
    void before(Tile<T>& /*tile*/) const {}
    template <class T>
    void after(const Tile<T>& /*tile*/) const {}
    void end_panel() const {}
};

/// Multiplies the tiles of a panel, from `tile` downwards.
template <class T, Order order, int Vectors, class Around>
void multiply_panel(const Tiles& tiles, Tile<T> tile, Around around) {
    const std::int64_t count = tiles.count();
    for (std::int64_t i = 0; i < count; ++i) {
        tile.rows = tiles.size(i);
        around.before(tile);
        if (tile.a_from == nullptr && tile.b_to == nullptr) {
            multiply_tile_of<T, order, Vectors>(tile);
        } else {
            multiply_first_tile<T, order, Vectors>(tile);
        }
        around.after(tile);
        tile.a += tile.a_tile + tile.rows * tile.a_below;
        tile.c += tile.rows * tile.c_row;
        if (tile.a_from != nullptr) {
            tile.a_to += tile.a_tile;
            tile.a_from += tile.rows * tile.a_row;
            tile.a_readable -= tile.rows;
        }
        if (tile.b_to != nullptr) {
            tile.b = tile.b_to;
            tile.b_row = Vectors * kLanes<T>;
            tile.b_to = nullptr;
        }
    }
}

/// multiply_panel for a panel `vectors` wide, 1 .. kTileVectors.
template <class T, Order order, int Vectors = kTileVectors<order>, class Around = NothingAround>
void multiply_panel_of(std::int64_t vectors, const Tiles& tiles, const Tile<T>& tile,
                       const Around& around = {}) {
    if constexpr (Vectors > 1) {
        if (vectors < Vectors) {
            return multiply_panel_of<T, order, Vectors - 1>(vectors, tiles, tile, around);
        }
    }
    multiply_panel<T, order, Vectors>(tiles, tile, around);
}

/// Multiplies a chunk by tiles. The Format points these at its operands:
///
///     read_a(pass, chunk, tile)                    at rows of A, or a copy; returns the hooks
///     place_c(pass, chunk, panel, tile, hooks)     at a panel of C, or of f32 sums
///     read_b(pass, chunk, panel, tile)             at a panel of B, or a copy
template <class T, class Format>
void multiply_tiles(const Format& format, const TilePass<T>& pass, const Chunk& chunk) {
    Tile<T> tile;
    tile.k = pass.depths.size(chunk.block);
    auto around = format.read_a(pass, chunk, tile);
    pass.for_panels(chunk.first_panel, chunk.last_panel, [&](const Panel& panel) {
        format.place_c(pass, chunk, panel, tile, around);
        format.read_b(pass, chunk, panel, tile);
        multiply_panel_of<T, Format::kOrder>(panel.padded / kLanes<T>, chunk.tiles, tile, around);
        tile.a_from = nullptr;  // the panel has copied A
        around.end_panel();
    });
}

/// Zeroes the end of each row of a panel, after its `width` elements of B.
template <class T>
void fill_with_zeros(T* to, const Panel& panel, std::int64_t depth) {
    if (panel.width == panel.padded) return;
    for (std::int64_t i = 0; i < depth; ++i) {
        for (std::int64_t j = panel.width; j < panel.padded; ++j) to[i * panel.padded + j] = T(0);
    }
}

/// The format of operands that are stored in the type in which they are multiplied.
template <class T, Order order>
struct Plain {
    static constexpr Order kOrder = order;
    const GemmArguments<T>& g;

    TilePass<T> sizes() const {
        const bool packs = g.m >= kVeryManyRows;
        return sizes_of_tiles<T, order>(g, packs, packs ? divide_up(g.n, kBlockColumns) : 1);
    }
    void begin_strip(TilePass<T>& pass, std::int64_t threads) const {
        cut_into_chunks<T, order>(threads, pass);
    }
    std::int64_t parts_of_b(const TilePass<T>& pass) const { return pass.panels.parts; }
    void pack_b(const TilePass<T>& pass, std::int64_t part, T* to) const {
        const Panel panel = pass.panel(part);
        const std::int64_t depth = pass.depths.size(pass.first_block);
        copy_panel(b_at(pass, pass.first_block, panel), panel, depth, to + panel.first * depth);
    }
    void multiply(const TilePass<T>& pass, const Chunk& chunk) const {
        multiply_tiles(*this, pass, chunk);
    }

    /// A is read in place if its rows are contiguous, or if its columns are and only one panel
    /// reads them or they stay in L1. (With an odd number of rows the code for one more could read
    /// past the last column, so they are copied.)
    NothingAround read_a(const TilePass<T>& pass, const Chunk& chunk, Tile<T>& tile) const {
        const T* const from = g.a + chunk.row * g.a_row + pass.depths.begin(chunk.block) * g.a_col;
        const bool once = chunk.last_panel - chunk.first_panel == 1;
        const bool near = once || tile.k * chunk.tiles.rows <= kInL1<T>;
        if (order == Order::rows || (near && g.a_row == 1 && chunk.tiles.rows % 2 == 0)) {
            tile.a = from;
            tile.a_step = order == Order::rows ? g.a_row : g.a_col;
            tile.a_below = g.a_row;
            return {};
        }
        const std::int64_t room = chunk.tiles.count() * pass.longest_depth() * kColumn<T>;
        tile.a = tile.a_to = scratch_for<Room::a>().take<T>(room);
        tile.a_step = kColumn<T>;
        tile.a_tile = tile.k * kColumn<T>;
        tile.a_from = from;
        tile.a_row = g.a_row;
        tile.a_col = g.a_col;
        tile.a_readable = g.m - chunk.row;
        return {};
    }

    void place_c(const TilePass<T>& pass, const Chunk& chunk, const Panel& panel, Tile<T>& tile,
                 const NothingAround& /*around*/) const {
        tile.c = g.c + chunk.row * g.c_row + pass.column + panel.first;
        tile.c_row = g.c_row;
        tile.accumulate = g.accumulate || chunk.block > 0;
        if (g.bias != nullptr && chunk.block == 0) tile.bias = g.bias + pass.column + panel.first;
        tile.last_lanes = panel.width - panel.padded + kLanes<T>;
    }

    /// B is read in place, or from a copy: one that the tile's loop makes, if other tiles will read
    /// it; one made at once, if rows are not whole vectors.
    void read_b(const TilePass<T>& pass, const Chunk& chunk, const Panel& panel,
                Tile<T>& tile) const {
        tile.b_to = nullptr;
        if (pass.packed != nullptr) {
            tile.b = pass.packed + panel.first * tile.k;
            tile.b_row = panel.padded;
            return;
        }
        tile.b = b_at(pass, chunk.block, panel);
        tile.b_row = g.b_row;
        const bool whole = g.b_col == 1 && panel.width == panel.padded;
        if (whole && chunk.tiles.count() == 1) return;
        T* const copy = scratch_for<Room::panel>().take<T>(pass.longest_depth() *
                                                           kTileVectors<order> * kLanes<T>);
        if (whole && copies_b_in_loop<order>(chunk.tiles.height, panel.padded / kLanes<T>)) {
            tile.b_to = copy;
            return;
        }
        copy_panel(tile.b, panel, tile.k, copy);
        tile.b = copy;
        tile.b_row = panel.padded;
    }

private:
    const T* b_at(const TilePass<T>& pass, std::int64_t block, const Panel& panel) const {
        return g.b + pass.depths.begin(block) * g.b_row + (pass.column + panel.first) * g.b_col;
    }
    /// Not inlined, where its loops would have too few registers.
    [[gnu::noinline]] void copy_panel(const T* from, const Panel& panel, std::int64_t depth,
                                      T* to) const {
        if (g.b_col == 1) {
            return copy_padded_rows(from, g.b_row, to, panel.padded, depth, panel.width);
        }
        copy_block(from, g.b_row, g.b_col, to, panel.padded, depth, panel.width);
        fill_with_zeros(to, panel, depth);
    }
};

// ---- the whole ----------------------------------------------------------------------------------

/// The product on all threads, if it is large enough to be worth it and not `serial`: that is for
/// callers inside a parallel loop. The bits are the same.
template <class T>
void gemm(const GemmArguments<T>& g, bool serial) {
    if (g.m <= 0 || g.n <= 0) return;
    const Threads threads = threads_for(g, serial);
    if (has_few_rows(g)) return gemm_of_few_rows(g, threads);
    if (g.k <= 0) return gemm_of_empty_sums(g);
    if (g.a_col == 1) return multiply_in_chunks(Plain<T, Order::rows>{g}, threads);
    multiply_in_chunks(Plain<T, Order::columns>{g}, threads);
}

}  // namespace tapestry::kernels::TAPESTRY_ISA_NAME
