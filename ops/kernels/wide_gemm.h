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

/// Arguments with bf16 as bits.
using HalfArguments = GemmArguments<std::uint16_t>;

/// Rows of C whose sums are held in f32.
inline constexpr std::int64_t kWaitingRows = 1024;

/// Steps of k copied at a time if memory is contiguous across k.
inline constexpr std::int64_t kStretch = 16;
/// Prefetch distance in rows.
inline constexpr std::int64_t kRowsAhead = 4;

/// The blocking of a product, and its f32 parts.
struct WidePass {
    const HalfArguments& g;
    Pass<float> pass;  // only its sizes
    const float* bias = nullptr;
    float* sums = nullptr;  // f32 sums; null if there is only one block
    std::int64_t sums_row = 0;
};

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

inline void pack_wide_panel(const WidePass& w, std::int64_t block, std::int64_t panel, float* to) {
    const Pass<float>& pass = w.pass;
    const std::int64_t depth = pass.depths.size(block);
    const std::int64_t first = pass.panels.begin(panel) * kLanes<float>;
    const std::int64_t padded = pass.panels.size(panel) * kLanes<float>;
    const std::int64_t width = smaller(padded, pass.width - first);
    const std::uint16_t* const from =
        w.g.b + pass.depths.begin(block) * w.g.b_row + (pass.column + first) * w.g.b_col;
    if (w.g.b_col == 1) {
        for (std::int64_t k = 0; k < depth; ++k) {
            widen_run(to + k * padded, from + k * w.g.b_row, width, kStretch * w.g.b_row);
        }
    } else {
        widen_columns(from, w.g.b_col, to, padded, depth, width);
    }
    fill_with_zeros(to, padded, depth, width);
}

/// Packs contiguous rows of B, each into all panels, so memory is read in order.
inline void pack_wide_rows(const WidePass& w, float* packed, std::int64_t begin, std::int64_t end) {
    const Pass<float>& pass = w.pass;
    const std::int64_t depth = pass.depths.size(pass.first_block);
    const std::uint16_t* from =
        w.g.b + (pass.depths.begin(pass.first_block) + begin) * w.g.b_row + pass.column;
    for (std::int64_t k = begin; k < end; ++k, from += w.g.b_row) {
        for (std::int64_t panel = 0; panel < pass.panels.parts; ++panel) {
            const std::int64_t first = pass.panels.begin(panel) * kLanes<float>;
            const std::int64_t padded = pass.panels.size(panel) * kLanes<float>;
            const std::int64_t width = smaller(padded, pass.width - first);
            float* const to = packed + first * depth + k * padded;
            widen_run(to, from + first, width, kRowsAhead * w.g.b_row);
            fill_with_zeros(to, padded, 1, width);
        }
    }
}

template <class Loop>
void pack_wide(WidePass& w, const Loop& loop) {
    Pass<float>& pass = w.pass;
    const std::int64_t depth = pass.depths.size(pass.first_block);
    const std::int64_t elements = pass.panels.total * kLanes<float> * depth;
    float* const to = scratch_for<Room::b>().take<float>(elements);
    const Cut rows{depth, divide_up(depth, kStretch)};
    const bool by_rows = w.g.b_col == 1;
    const auto pack = [&w, to, rows, by_rows](std::int64_t part) {
        if (by_rows) return pack_wide_rows(w, to, rows.begin(part), rows.begin(part + 1));
        const std::int64_t first = w.pass.panels.begin(part) * kLanes<float>;
        pack_wide_panel(w, w.pass.first_block, part, to + first * rows.total);
    };
    const std::int64_t parts = by_rows ? rows.parts : pass.panels.parts;
    if (elements >= kParallelPack) {
        loop(parts, pack);
    } else {
        for (std::int64_t part = 0; part < parts; ++part) pack(part);
    }
    pass.packed = to;
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
};

// ---- the product --------------------------------------------------------------------------------

template <Order order>
void multiply_wide_block(const WidePass& w, std::int64_t block, std::int64_t down,
                         std::int64_t across) {
    const Pass<float>& pass = w.pass;
    const std::int64_t row = pass.chunk_tiles.begin(down) * pass.tile_height;
    const std::int64_t end = pass.chunk_tiles.begin(down + 1) * pass.tile_height;
    const Tiles tiles{smaller(w.g.m, end) - row, pass.tile_height};
    constexpr std::int64_t kWidest = kTileVectors<order> * kLanes<float>;
    Tile<float> tile;
    tile.k = pass.depths.size(block);
    tile.last_lanes = kLanes<float>;
    tile.accumulate = block > 0;
    WideAround around{};
    const std::uint16_t* const a = w.g.a + row * w.g.a_row + pass.depths.begin(block) * w.g.a_col;
    if constexpr (order == Order::rows) {
        // The row stride is not a power of two, so rows do not compete for a few L1 sets.
        tile.a_step = tile.a_below = tile.k + kLine<float>;
        around.a = a;
        around.a_row = w.g.a_row;
        around.a_to = scratch_for<Room::a>().take<float>(tiles.rows * tile.a_step);
        tile.a = around.a_to;
    } else {
        tile.a_step = kColumn<float>;
        tile.a_tile = tile.k * kColumn<float>;
        float* const to = scratch_for<Room::a>().take<float>(tiles.count() * tile.a_tile);
        widen_tiles(w.g, a, row, tiles, tile.k, to);
        tile.a = to;
    }
    if (w.sums == nullptr) {
        around.room = scratch_for<Room::panel>().take<float>(kTileRows<order> * kWidest);
    }
    float* const own_b =
        pass.packed != nullptr ? nullptr : scratch_for<Room::b>().take<float>(tile.k * kWidest);
    around.c_row = w.g.c_row;
    for (std::int64_t panel = pass.chunk_panels.begin(across);
         panel < pass.chunk_panels.begin(across + 1); ++panel) {
        const std::int64_t vectors = pass.panels.size(panel);
        const std::int64_t first = pass.panels.begin(panel) * kLanes<float>;
        tile.c = w.sums == nullptr ? around.room : w.sums + row * w.sums_row + first;
        tile.c_row = w.sums == nullptr ? vectors * kLanes<float> : w.sums_row;
        tile.bias = w.bias != nullptr && block == 0 ? w.bias + pass.column + first : nullptr;
        if (own_b != nullptr) pack_wide_panel(w, block, panel, own_b);
        tile.b = own_b != nullptr ? own_b : pass.packed + first * tile.k;
        tile.b_row = vectors * kLanes<float>;
        around.width = smaller(tile.b_row, pass.width - first);
        if (block + 1 == pass.depths.parts) {
            around.c = w.g.c + row * w.g.c_row + pass.column + first;
        }
        multiply_panel_of<float, order>(vectors, tiles, tile, around);
        around.a = nullptr;
    }
}

template <Order order, class Loop>
void wide_gemm_in_order(const HalfArguments& g, const float* bias, bool packs, std::int64_t threads,
                        const Loop& loop) {
    GemmArguments<float> sizes;
    sizes.m = g.m;
    WidePass w{g, Pass<float>{sizes}, bias};
    Pass<float>& pass = w.pass;
    pass.depths = {g.k, divide_up(g.k, kBlockK)};
    const Cut strips{divide_up(g.n, kLanes<float>), divide_up(g.n, kBlockColumns)};
    for (std::int64_t j = 0; j < strips.parts; ++j) {
        pass.column = strips.begin(j) * kLanes<float>;
        pass.width = smaller(strips.size(j) * kLanes<float>, g.n - pass.column);
        pass.panels = {strips.size(j), divide_up(strips.size(j), kTileVectors<order>)};
        cut_into_chunks<float, order>(threads, pass);
        if (pass.depths.parts > 1) {
            w.sums_row = strips.size(j) * kLanes<float>;
            w.sums = scratch_for<Room::sums>().take<float>(g.m * w.sums_row);
        }
        for (std::int64_t i = 0; i < pass.depths.parts; i = pass.last_block) {
            pass.first_block = i;
            pass.last_block = packs ? i + 1 : pass.depths.parts;
            if (packs) pack_wide(w, loop);
            loop(pass.chunk_tiles.parts * pass.chunk_panels.parts, [&w](std::int64_t chunk) {
                const std::int64_t across = w.pass.chunk_panels.parts;
                for (std::int64_t k = w.pass.first_block; k < w.pass.last_block; ++k) {
                    multiply_wide_block<order>(w, k, chunk / across, chunk % across);
                }
            });
        }
    }
}

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
template <class Loop>
void wide_gemm_of_few_rows(const HalfArguments& g, const Loop& loop) {
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
    gemm_of_few_rows(wide, loop);
    for (std::int64_t i = 0; i < g.m; ++i) {
        narrow_run(g.c + i * g.c_row, wide.c + i * g.n, g.n);
    }
}

template <class Loop>
void wide_gemm_in_chunks(const HalfArguments& g, std::int64_t threads, const Loop& loop) {
    if (g.k <= 0) {  // empty sums
        for (std::int64_t i = 0; i < g.m; ++i) {
            for (std::int64_t j = 0; j < g.n; ++j) {
                g.c[i * g.c_row + j] = g.bias != nullptr ? g.bias[j] : std::uint16_t{0};
            }
        }
        return;
    }
    const float* const bias = widened_bias(g);
    const bool packs = g.m >= kVeryManyRows || g.k <= kBlockK;
    const Cut rows{g.m, g.k > kBlockK ? divide_up(g.m, kWaitingRows) : 1};
    for (std::int64_t i = 0; i < rows.parts; ++i) {
        HalfArguments some = g;
        some.m = rows.size(i);
        some.a += rows.begin(i) * g.a_row;
        some.c += rows.begin(i) * g.c_row;
        if (g.a_col == 1) {
            wide_gemm_in_order<Order::rows>(some, bias, packs, threads, loop);
        } else {
            wide_gemm_in_order<Order::columns>(some, bias, packs, threads, loop);
        }
    }
}

inline HalfArguments bits_of(const GemmArguments<Bf16>& g) {
    const auto* const a = reinterpret_cast<const std::uint16_t*>(g.a);
    const auto* const b = reinterpret_cast<const std::uint16_t*>(g.b);
    const auto* const bias = reinterpret_cast<const std::uint16_t*>(g.bias);
    auto* const c = reinterpret_cast<std::uint16_t*>(g.c);
    return {g.m, g.n, g.k, a, g.a_row, g.a_col, b, g.b_row, g.b_col, c, g.c_row, bias, false};
}

inline void wide_gemm(const GemmArguments<Bf16>& halves, bool serial) {
    const HalfArguments g = bits_of(halves);
    if (g.m <= 0 || g.n <= 0) return;
    const bool few = has_few_rows(g);
    const bool worth_it = few ? g.n * g.k >= kParallelReading : g.m * g.n * g.k >= kParallelWork;
    if (serial || !worth_it) {
        const auto loop = [](std::int64_t count, const auto& f) {
            for (std::int64_t i = 0; i < count; ++i) f(i);
        };
        if (few) return wide_gemm_of_few_rows(g, loop);
        return wide_gemm_in_chunks(g, 1, loop);
    }
    const auto loop = [](std::int64_t count, const auto& f) { parallel_for_chunks(count, f); };
    if (few) return wide_gemm_of_few_rows(g, loop);
    wide_gemm_in_chunks(g, num_threads(), loop);
}

}  // namespace tapestry::kernels::TAPESTRY_ISA_NAME
