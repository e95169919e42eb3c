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
// For one or a few rows of A see gemm_few_rows.h. Otherwise rows of A are read in place. B, or
// columns of A, are packed in the order of the loop, each part by the first tile that reads it,
// while it computes: if a chunk has few tiles, packing in advance took 12% of the time. There are
// two exceptions: a B with contiguous columns (C = A B^T) is transposed a panel at a time before
// its first tile; and for very many rows of A, where each chunk would copy B, B is packed once, by
// all threads.
//
// Prefetching far ahead (whole panels of B and blocks of A into L2) was tried and gained nothing on
// an Intel server: the first tile waited less but the others more, because prefetches occupy the
// fill buffers through which they read L2.
//
// The number of chunks is the number of threads, or a multiple, and chunks are as nearly square as
// possible, which minimises repeated reads of A and B. A descheduled thread delays one chunk; the
// others take the rest.
//
// What an element's bits depend on: the sums over each block of k run in the order of k, in any
// tile or chunk, and blocks are added in order. Bits depend neither on the number of threads nor on
// the cut into chunks.
#pragma once

#include <tapestry/core/parallel.h>
#include <tapestry/ops/kernels/gemm_few_rows.h>
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
/// Elements of B below which packing is not worth waking other threads.
inline constexpr std::int64_t kParallelPack = 32'768;

/// One pass of the outer loops: its blocks of k, its columns of C, and how C is cut into chunks.
template <class T>
struct Pass {
    const GemmArguments<T>& g;
    Cut depths{};                                  // k, into blocks
    std::int64_t first_block = 0, last_block = 0;  // of this pass: [first, last)
    std::int64_t column = 0, width = 0;            // columns [column, column + width) of B and C
    const T* packed = nullptr;                     // the block of B packed in advance, or null
    Cut panels{};                                  // the vectors of `width`, into panels
    std::int64_t tile_height = 1;
    Cut chunk_tiles{};   // the rows of C, counted in tiles, into chunks
    Cut chunk_panels{};  // the panels, into chunks

    /// The panel's part of a block of B.
    const T* b_at(std::int64_t block, std::int64_t panel) const {
        return g.b + depths.begin(block) * g.b_row +
               (column + panels.begin(panel) * kLanes<T>)*g.b_col;
    }
    std::int64_t longest_depth() const { return divide_up(depths.total, depths.parts); }
};

// ---- packing B in advance -----------------------------------------------------------------------

/// Zeroes the end of each row of a panel, after its `width` elements of B.
template <class T>
void fill_with_zeros(T* panel, std::int64_t row, std::int64_t depth, std::int64_t width) {
    if (width == row) return;
    for (std::int64_t i = 0; i < depth; ++i) {
        for (std::int64_t j = width; j < row; ++j) panel[i * row + j] = T(0);
    }
}

template <class T>
void pack_panel(const Pass<T>& pass, T* packed, std::int64_t panel) {
    const GemmArguments<T>& g = pass.g;
    const std::int64_t depth = pass.depths.size(pass.first_block);
    const std::int64_t first = pass.panels.begin(panel) * kLanes<T>;
    const std::int64_t padded = pass.panels.size(panel) * kLanes<T>;
    const std::int64_t width = smaller(padded, pass.width - first);
    T* const to = packed + first * depth;
    copy_block(pass.b_at(pass.first_block, panel), g.b_row, g.b_col, to, padded, depth, width);
    fill_with_zeros(to, padded, depth, width);
}

template <class T, class Loop>
void pack_b(Pass<T>& pass, const Loop& loop) {
    const std::int64_t elements =
        pass.panels.total * kLanes<T> * pass.depths.size(pass.first_block);
    T* const to = scratch_for<Room::b>().take<T>(elements);
    const auto pack = [&pass, to](std::int64_t panel) { pack_panel(pass, to, panel); };
    if (elements >= kParallelPack) {
        loop(pass.panels.parts, pack);
    } else {
        for (std::int64_t panel = 0; panel < pass.panels.parts; ++panel) pack(panel);
    }
    pass.packed = to;
}

// ---- a chunk ------------------------------------------------------------------------------------

/// Rows of C in tiles, the last of which may be lower. If it would be less than half as high, it
/// shares its rows with the one before, because a low tile has too few accumulators to hide
/// latency. If there are several, the first has full height, because its loop may copy B.
struct Tiles {
    std::int64_t rows = 0, height = 1;
    std::int64_t count() const { return divide_up(rows, height); }
    std::int64_t size(std::int64_t tile) const {
        const std::int64_t last = count() - 1, rest = rows - last * height;
        if (last >= 2 && tile >= last - 1 && 2 * rest < height) {
            const std::int64_t both = height + rest, upper = (both + 2) / 4 * 2;
            return tile < last ? upper : both - upper;
        }
        return tile < last ? height : rest;
    }
};

/// Hooks before and after each tile of a panel; these do nothing.
struct NothingAround {
    template <class T>
    void before(Tile<T>& /*tile*/) const {}
    template <class T>
    void after(const Tile<T>& /*tile*/) const {}
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

/// One chunk of C.
template <class T, Order order>
class Chunk {
public:
    Chunk(const Pass<T>& pass, std::int64_t down, std::int64_t across)
        : pass_(pass),
          g_(pass.g),
          row_(pass.chunk_tiles.begin(down) * pass.tile_height),
          tiles_{smaller(g_.m, pass.chunk_tiles.begin(down + 1) * pass.tile_height) - row_,
                 pass.tile_height},
          first_panel_(pass.chunk_panels.begin(across)),
          last_panel_(pass.chunk_panels.begin(across + 1)) {
        const std::int64_t depth = pass.longest_depth();
        if constexpr (order == Order::columns) {
            const std::int64_t room = tiles_.count() * depth * kColumn<T>;
            copy_of_a_ = scratch_for<Room::a>().take<T>(room);
        }
        copy_of_panel_ =
            scratch_for<Room::panel>().take<T>(depth * kTileVectors<order> * kLanes<T>);
    }

    void multiply() const {
        for (std::int64_t block = pass_.first_block; block < pass_.last_block; ++block) {
            multiply_block(block);
        }
    }

private:
    /// Points the tile at A in place, if its rows are contiguous, or if its columns are and only
    /// one panel reads them or they stay in L1; otherwise at a copy. (With an odd number of rows
    /// the code for one more could read past the last column, so they are copied.)
    void read_a(std::int64_t block, Tile<T>& tile) const {
        const T* const from = g_.a + row_ * g_.a_row + pass_.depths.begin(block) * g_.a_col;
        const bool once = last_panel_ - first_panel_ == 1;
        const bool near = once || tile.k * tiles_.rows <= kInL1<T>;
        if (order == Order::rows || (near && g_.a_row == 1 && tiles_.rows % 2 == 0)) {
            tile.a = from;
            tile.a_step = order == Order::rows ? g_.a_row : g_.a_col;
            tile.a_below = g_.a_row;
            return;
        }
        tile.a = tile.a_to = copy_of_a_;
        tile.a_step = kColumn<T>;
        tile.a_tile = tile.k * kColumn<T>;
        tile.a_from = from;
        tile.a_row = g_.a_row;
        tile.a_col = g_.a_col;
        tile.a_readable = g_.m - row_;
    }

    void multiply_block(std::int64_t block) const {
        Tile<T> tile;
        tile.k = pass_.depths.size(block);
        read_a(block, tile);
        tile.c_row = g_.c_row;
        tile.accumulate = g_.accumulate || block > 0;
        for (std::int64_t panel = first_panel_; panel < last_panel_; ++panel) {
            const std::int64_t vectors = pass_.panels.size(panel);
            const std::int64_t first = pass_.panels.begin(panel) * kLanes<T>;
            tile.c = g_.c + row_ * g_.c_row + pass_.column + first;
            if (g_.bias != nullptr && block == 0) tile.bias = g_.bias + pass_.column + first;
            tile.last_lanes = smaller(pass_.width - first - (vectors - 1) * kLanes<T>, kLanes<T>);
            read_b(block, panel, tile);
            multiply_panel_of<T, order>(vectors, tiles_, tile);
            tile.a_from = nullptr;
        }
    }

    /// Points the tile at a panel of B, or at a copy: one that the tile's loop makes, if other
    /// tiles will read it; one made at once, if rows are not whole vectors.
    void read_b(std::int64_t block, std::int64_t panel, Tile<T>& tile) const {
        const std::int64_t vectors = pass_.panels.size(panel), row = vectors * kLanes<T>;
        tile.b_to = nullptr;
        if (pass_.packed != nullptr) {
            tile.b = pass_.packed + pass_.panels.begin(panel) * kLanes<T> * tile.k;
            tile.b_row = row;
            return;
        }
        tile.b = pass_.b_at(block, panel);
        tile.b_row = g_.b_row;
        if (g_.b_col != 1) {
            const std::int64_t width = row - kLanes<T> + tile.last_lanes;
            copy_block(tile.b, g_.b_row, g_.b_col, copy_of_panel_, row, tile.k, width);
            fill_with_zeros(copy_of_panel_, row, tile.k, width);
            tile.b = copy_of_panel_;
            tile.b_row = row;
            return;
        }
        const bool whole = tile.last_lanes == kLanes<T>, reused = tiles_.count() > 1;
        if (whole && !reused) return;
        if (whole && copies_b_in_loop<order>(tiles_.height, vectors)) {
            tile.b_to = copy_of_panel_;
            return;
        }
        copy_padded_rows(tile.b, g_.b_row, copy_of_panel_, row, tile.k,
                         row - kLanes<T> + tile.last_lanes);
        tile.b = copy_of_panel_;
        tile.b_row = row;
    }

    const Pass<T>& pass_;
    const GemmArguments<T>& g_;
    std::int64_t row_;
    Tiles tiles_;
    std::int64_t first_panel_, last_panel_;
    T* copy_of_a_ = nullptr;
    T* copy_of_panel_ = nullptr;
};

// ---- the whole ----------------------------------------------------------------------------------

/// Chooses the number of chunks, down and across, that minimises the work of the busiest thread.
/// Copying a row of A or a column of B costs about as much as multiplying by kCopyRow columns or
/// kCopyColumn rows; where chunks meet in a row of C, two threads write to neighbouring lines,
/// which costs kSeam columns.
template <class T, Order order>
void cut_into_chunks(std::int64_t threads, Pass<T>& pass) {
    constexpr std::int64_t kCopyRow = 24, kCopyColumn = 8, kSeam = 8;
    const std::int64_t panels = pass.panels.parts, widest = divide_up(pass.panels.total, panels);
    pass.tile_height = tile_rows<order>(static_cast<int>(widest));
    const std::int64_t tiles = divide_up(pass.g.m, pass.tile_height);
    const std::int64_t least_down = divide_up(pass.g.m, kChunkRows<T>);
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
}

/// For k = 0: C = (accumulate ? C : 0) + bias.
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
template <class T, Order order, class Loop>
void gemm_in_order(const GemmArguments<T>& g, std::int64_t threads, const Loop& loop) {
    const bool packs = g.m >= kVeryManyRows;
    const Cut widths{divide_up(g.n, kLanes<T>), packs ? divide_up(g.n, kBlockColumns) : 1};
    Pass<T> pass{g};
    pass.depths = {g.k, divide_up(g.k, kBlockK)};
    for (std::int64_t j = 0; j < widths.parts; ++j) {
        pass.column = widths.begin(j) * kLanes<T>;
        pass.width = smaller(widths.size(j) * kLanes<T>, g.n - pass.column);
        pass.panels = {widths.size(j), divide_up(widths.size(j), kTileVectors<order>)};
        cut_into_chunks<T, order>(threads, pass);
        for (std::int64_t i = 0; i < pass.depths.parts; i = pass.last_block) {
            pass.first_block = i;
            pass.last_block = packs ? i + 1 : pass.depths.parts;
            if (packs) pack_b(pass, loop);
            loop(pass.chunk_tiles.parts * pass.chunk_panels.parts, [&pass](std::int64_t chunk) {
                const std::int64_t across = pass.chunk_panels.parts;
                Chunk<T, order>(pass, chunk / across, chunk % across).multiply();
            });
        }
    }
}

template <class T, class Loop>
void gemm_in_chunks(const GemmArguments<T>& g, std::int64_t threads, const Loop& loop) {
    if (g.m <= 0 || g.n <= 0) return;
    if (g.k <= 0) return gemm_of_empty_sums(g);
    if (g.a_col == 1) return gemm_in_order<T, Order::rows>(g, threads, loop);
    gemm_in_order<T, Order::columns>(g, threads, loop);
}

/// The product on the calling thread, for callers already inside a parallel loop.
template <class T>
void gemm_serial(const GemmArguments<T>& g) {
    const auto loop = [](std::int64_t count, const auto& f) {
        for (std::int64_t i = 0; i < count; ++i) f(i);
    };
    if (has_few_rows(g)) return gemm_of_few_rows(g, loop);
    gemm_in_chunks(g, 1, loop);
}

/// The product on all threads, if it is large enough to be worth it. Same bits as gemm_serial.
template <class T>
void gemm(const GemmArguments<T>& g) {
    const bool few = has_few_rows(g);
    const bool worth_it = few ? g.n * g.k >= kParallelReading : g.m * g.n * g.k >= kParallelWork;
    if (!worth_it) return gemm_serial(g);
    const auto loop = [](std::int64_t count, const auto& f) { parallel_for_chunks(count, f); };
    if (few) return gemm_of_few_rows(g, loop);
    gemm_in_chunks(g, num_threads(), loop);
}

}  // namespace tapestry::kernels::TAPESTRY_ISA_NAME
