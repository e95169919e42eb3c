// C = A B of bf16 by the f32 tiles. Read first: gemm.h.
//
// Except for rows of A, tiles read packed copies anyway, and use each number often. So numbers are
// widened once, while packing, and the multiplying loops are those of f32:
//
//     for each strip of C, <= 2048 columns, and <= 1024 rows where k has several blocks:
//         for each block of <= 512 steps of k:
//             pack the strip's columns of B, widened                    all threads
//             for each chunk of C, <= 192 rows:                         all threads
//                 for each panel of B, for each tile of the chunk:
//                     the first panel: copy its rows of A, widened      <= 384 KiB, in L2
//                     multiply; the last block: round to C
//
// With few rows and many blocks, as in C = A^T B over the tokens of a batch, each chunk goes
// through all blocks independently and widens B a panel at a time: synchronising after every block
// would take longer.
//
// The source of a copy is prefetched, a tile's rows of A while the tile above multiplies: copies
// that waited for memory took 10% of the time, because nothing multiplies meanwhile.
//
// Sums over several blocks are held in f32. k is cut where gemm.h cuts it, and no other blocking
// affects the bits: they are those of an f32 product of the same numbers, rounded once.
#pragma once

#include <tapestry/ops/kernels/gemm.h>
#include <tapestry/ops/kernels/half_vector.h>

namespace tapestry::kernels::TAPESTRY_ISA_NAME {

/// Rows of C whose sums are held in f32.
inline constexpr std::int64_t kWaitingRows = 1024;

/// Steps of k copied at a time if memory is contiguous across k; the next ones are prefetched.
inline constexpr std::int64_t kStretch = 16;

// ---- copies -------------------------------------------------------------------------------------

/// Packs a block of B with contiguous columns of `depth` as rows of `padded`: some columns at a
/// time are widened in L1 and transposed from there.
inline void widen_columns(const std::uint16_t* from, std::int64_t run, float* to,
                          std::int64_t padded, std::int64_t depth, std::int64_t width) {
    constexpr std::int64_t kColumns = 16, kSteps = 128;
    alignas(64) float wide[kColumns * kSteps];
    for (std::int64_t j = 0; j < width; j += kColumns) {
        const std::int64_t columns = smaller(kColumns, width - j);
        for (std::int64_t k = 0; k < depth; k += kSteps) {
            const std::int64_t steps = smaller(kSteps, depth - k);
            for (std::int64_t i = 0; i < columns; ++i) {
                widen_run(wide + i * kSteps, from + (j + i) * run + k, steps);
            }
            copy_transposed(wide, kSteps, to + k * padded + j, padded, steps, columns);
        }
    }
}

/// Packs columns of A in the order of the tiles, [tile][k][row], with zeros below the last row:
/// some steps of k at a time, because adjacent tiles read the same cache lines.
inline void widen_tiles(const HalfArguments& g, const std::uint16_t* from, std::int64_t row,
                        const Tiles& tiles, std::int64_t depth, float* to) {
    for (std::int64_t k = 0; k < depth; k += kStretch) {
        const std::int64_t end = smaller(depth, k + kStretch);
        const std::uint16_t* first = from;
        float* tile_to = to;
        std::int64_t readable = g.m - row;
        for (std::int64_t tile = 0; tile < tiles.count();
             ++tile, tile_to += depth * kColumn<float>) {
            const std::int64_t rows = tiles.size(tile);
            for (std::int64_t step = k; step < end; ++step) {
                const std::uint16_t* const column = first + step * g.a_col;
                __builtin_prefetch(column + kStretch * g.a_col);
                for (std::int64_t i = 0; i < rows; i += kLanes<float>) {
                    const std::int64_t there = readable - i;
                    store(tile_to + step * kColumn<float> + i,
                          there >= kLanes<float> ? load(column + i)
                                                 : load_partial(column + i, there));
                }
            }
            first += rows;
            readable -= rows;
        }
    }
}

/// Hooks around the tiles of a panel. In the chunk's first panel each tile widens its rows of A and
/// prefetches those of the next; finished sums are rounded while they are in L1.
struct WideAround {
    const std::uint16_t* a;  // the tile's first row; null if already widened, or columns
    std::int64_t a_row;
    float* a_to;       // the tile's rows in the copy
    float* room;       // for a tile's sums; null if they are held in f32
    std::uint16_t* c;  // null if further blocks will be added
    std::int64_t c_row, width;

    void before(Tile<float>& tile) {
        if (room != nullptr) tile.c = room;
        for (std::int64_t i = 0; c != nullptr && i < tile.rows; ++i) {
            for (std::int64_t j = 0; j < width; j += kLineOfHalves) {
                __builtin_prefetch(c + i * c_row + j, 1);
            }
        }
        if (a == nullptr) return;
        for (std::int64_t i = 0; i < tile.rows; ++i, a += a_row, a_to += tile.a_step) {
            widen_run(a_to, a, tile.k);
        }
        tile.soon = a;
        tile.soon_row = a_row;
    }
    void after(const Tile<float>& tile) {
        if (c == nullptr) return;
        for (std::int64_t i = 0; i < tile.rows; ++i, c += c_row) {
            narrow_run(c, tile.c + i * tile.c_row, width);
        }
    }
    void end_panel() { a = nullptr; }
};

// ---- the format ---------------------------------------------------------------------------------

template <Order order>
struct Widened {
    static constexpr Order kOrder = order;
    static constexpr std::int64_t kWidest = kTileVectors<order> * kLanes<float>;
    const HalfArguments& g;
    const float* bias;  // padded to whole vectors, or null
    bool packs;
    float* sums = nullptr;  // of the strip, padded; null if there is only one block
    std::int64_t sums_row = 0;

    TilePass<float> sizes() const {
        return sizes_of_tiles<float, order>(g, packs, divide_up(g.n, kBlockColumns));
    }
    void begin_strip(TilePass<float>& pass, std::int64_t threads) {
        cut_into_chunks<float, order>(threads, pass);
        if (pass.depths.parts == 1) return;
        sums_row = pass.panels.total * kLanes<float>;
        sums = scratch_for<Room::sums>().take<float>(g.m * sums_row);
    }

    /// Contiguous rows of B are packed some at a time into all panels, so memory is read in order.
    std::int64_t parts_of_b(const TilePass<float>& pass) const {
        return g.b_col == 1 ? stretches(pass).parts : pass.panels.parts;
    }
    void pack_b(const TilePass<float>& pass, std::int64_t part, float* to) const {
        const std::int64_t depth = pass.depths.size(pass.first_block);
        if (g.b_col != 1) {
            const Panel panel = pass.panel(part);
            return widen_panel(b_at(pass, pass.first_block, panel), panel, depth,
                               to + panel.first * depth);
        }
        const Cut rows = stretches(pass);
        const std::int64_t begin = rows.begin(part), count = rows.size(part);
        pass.for_panels(0, pass.panels.parts, [&](const Panel& panel) {
            widen_panel(b_at(pass, pass.first_block, panel) + begin * g.b_row, panel, count,
                        to + panel.first * depth + begin * panel.padded);
        });
    }
    void multiply(const TilePass<float>& pass, const Chunk& chunk) const {
        multiply_tiles(*this, pass, chunk);
    }

    WideAround read_a(const TilePass<float>& pass, const Chunk& chunk, Tile<float>& tile) const {
        const std::uint16_t* const a =
            g.a + chunk.row * g.a_row + pass.depths.begin(chunk.block) * g.a_col;
        WideAround around{};
        if constexpr (order == Order::rows) {
            // The row stride is not a power of two, so rows do not compete for a few L1 sets.
            tile.a_step = tile.a_below = tile.k + kLine<float>;
            around.a = a;
            around.a_row = g.a_row;
            around.a_to = scratch_for<Room::a>().take<float>(chunk.tiles.rows * tile.a_step);
            tile.a = around.a_to;
        } else {
            tile.a_step = kColumn<float>;
            tile.a_tile = tile.k * kColumn<float>;
            float* const to = scratch_for<Room::a>().take<float>(chunk.tiles.count() * tile.a_tile);
            widen_tiles(g, a, chunk.row, chunk.tiles, tile.k, to);
            tile.a = to;
        }
        if (sums == nullptr) {
            around.room = scratch_for<Room::panel>().take<float>(kTileRows<order> * kWidest);
        }
        around.c_row = g.c_row;
        return around;
    }

    void place_c(const TilePass<float>& pass, const Chunk& chunk, const Panel& panel,
                 Tile<float>& tile, WideAround& around) const {
        tile.c = sums == nullptr ? around.room : sums + chunk.row * sums_row + panel.first;
        tile.c_row = sums == nullptr ? panel.padded : sums_row;
        tile.accumulate = chunk.block > 0;
        if (bias != nullptr && chunk.block == 0) tile.bias = bias + pass.column + panel.first;
        tile.last_lanes = kLanes<float>;
        around.width = panel.width;
        if (chunk.block + 1 == pass.depths.parts) {
            around.c = g.c + chunk.row * g.c_row + pass.column + panel.first;
        }
    }

    void read_b(const TilePass<float>& pass, const Chunk& chunk, const Panel& panel,
                Tile<float>& tile) const {
        tile.b_row = panel.padded;
        if (pass.packed != nullptr) {
            tile.b = pass.packed + panel.first * tile.k;
            return;
        }
        float* const own = scratch_for<Room::b>().take<float>(tile.k * kWidest);
        widen_panel(b_at(pass, chunk.block, panel), panel, tile.k, own);
        tile.b = own;
    }

private:
    static Cut stretches(const TilePass<float>& pass) {
        const std::int64_t depth = pass.depths.size(pass.first_block);
        return {depth, divide_up(depth, kStretch)};
    }
    const std::uint16_t* b_at(const TilePass<float>& pass, std::int64_t block,
                              const Panel& panel) const {
        return g.b + pass.depths.begin(block) * g.b_row + (pass.column + panel.first) * g.b_col;
    }
    void widen_panel(const std::uint16_t* from, const Panel& panel, std::int64_t depth,
                     float* to) const {
        if (g.b_col == 1) {
            const std::int64_t row = g.b_row, ahead = kStretch * g.b_row;
            for (std::int64_t k = 0; k < depth; ++k) {
                widen_run(to + k * panel.padded, from + k * row, panel.width, ahead);
            }
        } else {
            widen_columns(from, g.b_col, to, panel.padded, depth, panel.width);
        }
        fill_with_zeros(to, panel, depth);
    }
};

// ---- the whole ----------------------------------------------------------------------------------

/// The bias as f32 padded to whole vectors, or null.
inline const float* widened_bias(const HalfArguments& g) {
    if (g.bias == nullptr) return nullptr;
    const std::int64_t whole = divide_up(g.n, kLanes<float>) * kLanes<float>;
    float* const bias = scratch_for<Room::bias>().take<float>(whole);
    widen_run(bias, g.bias, g.n);
    for (std::int64_t j = g.n; j < whole; ++j) bias[j] = 0;
    return bias;
}

/// With few rows, A, the bias and C are small compared with B, so they are converted to f32, and
/// only B is read as stored.
inline void widened_gemm_of_few_rows(const HalfArguments& g, const Threads& threads) {
    GemmArguments<float, std::uint16_t> wide;
    wide.m = g.m;
    wide.n = g.n;
    wide.k = g.k;
    float* const a = scratch_for<Room::a>().take<float>(g.m * g.k);
    const bool rows = g.a_col == 1;
    for (std::int64_t i = 0; i < (rows ? g.m : g.k); ++i) {
        if (rows) {
            widen_run(a + i * g.k, g.a + i * g.a_row, g.k);
        } else {
            widen_run(a + i * g.m, g.a + i * g.a_col, g.m);
        }
    }
    wide.a = a;
    wide.a_row = rows ? g.k : 1;
    wide.a_col = rows ? 1 : g.m;
    wide.b = g.b;
    wide.b_row = g.b_row;
    wide.b_col = g.b_col;
    wide.bias = widened_bias(g);
    wide.c = scratch_for<Room::sums>().take<float>(g.m * g.n);
    wide.c_row = g.n;
    gemm_of_few_rows(wide, threads);
    for (std::int64_t i = 0; i < g.m; ++i) {
        narrow_run(g.c + i * g.c_row, wide.c + i * g.n, g.n);
    }
}

inline void widened_gemm(const GemmArguments<Bf16>& halves, bool serial) {
    const HalfArguments g = bits_of(halves);
    if (g.m <= 0 || g.n <= 0) return;
    const Threads threads = threads_for(g, serial);
    if (has_few_rows(g)) return widened_gemm_of_few_rows(g, threads);
    if (g.k <= 0) return gemm_of_empty_sums(g);
    const float* const bias = widened_bias(g);
    const bool packs = g.m >= kVeryManyRows || g.k <= kBlockK;
    const Cut rows{g.m, g.k > kBlockK ? divide_up(g.m, kWaitingRows) : 1};
    for (std::int64_t i = 0; i < rows.parts; ++i) {
        HalfArguments some = g;
        some.m = rows.size(i);
        some.a += rows.begin(i) * g.a_row;
        some.c += rows.begin(i) * g.c_row;
        if (g.a_col == 1) {
            multiply_in_chunks(Widened<Order::rows>{some, bias, packs}, threads);
        } else {
            multiply_in_chunks(Widened<Order::columns>{some, bias, packs}, threads);
        }
    }
}

}  // namespace tapestry::kernels::TAPESTRY_ISA_NAME
