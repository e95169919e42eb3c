// C = A B of bf16 by the tiles of f32. Read first: gemm.h.
//
// What the tiles read is a copy anyway, but for rows of A, and they use each number of it often. So
// numbers are widened as they are copied, once, and the loops that multiply are those of f32:
//
//     for each strip of C, <= 2048 columns, and <= 1024 rows where k has several blocks:
//         for each block of <= 512 steps of k:
//             pack the strip's columns of B, widened                    all threads
//             for each chunk of C, <= 192 rows:                         all threads
//                 copy its rows of A, widened                           <= 384 KiB, in L2
//                 for each panel of B: the chunk's tiles; of the last block, rounded to C
//
// Sums that several blocks add to wait in f32. k is cut where gemm.h cuts it, and nothing else of
// what is cut shows: the bits are those of a product in f32 of the same numbers, rounded once.
#pragma once

#include <tapestry/ops/kernels/gemm.h>
#include <tapestry/ops/kernels/half_vector.h>

namespace tapestry::kernels::TAPESTRY_ISA_NAME {

/// Bits of bf16.
using HalfArguments = GemmArguments<std::uint16_t>;

/// Rows of C whose sums wait.
inline constexpr std::int64_t kWaitingRows = 1024;

/// A product as it is cut, and what is f32 of it.
struct WidePass {
    const HalfArguments& g;
    Pass<float> pass;  // of sizes alone
    const float* bias = nullptr;
    float* sums = nullptr;  // null: there is one block, and nothing waits
    std::int64_t sums_row = 0;
};

// ---- copies -------------------------------------------------------------------------------------

/// A block of B with runs of `depth` along k, as rows of `padded`: some columns at a time side by
/// side in L1, and transposed from there.
inline void widen_columns(const std::uint16_t* from, std::int64_t run, float* to,
                          std::int64_t padded, std::int64_t depth, std::int64_t width) {
    constexpr std::int64_t kColumns = 16, kStretch = 128;
    alignas(64) float wide[kColumns * kStretch];
    for (std::int64_t j = 0; j < width; j += kColumns) {
        const std::int64_t columns = smaller(kColumns, width - j);
        for (std::int64_t k = 0; k < depth; k += kStretch) {
            const std::int64_t steps = smaller(kStretch, depth - k);
            for (std::int64_t i = 0; i < columns; ++i) {
                widen_run(wide + i * kStretch, from + (j + i) * run + k, steps);
            }
            copy_transposed(wide, kStretch, to + k * padded + j, padded, steps, columns);
        }
    }
}

inline void pack_wide_panel(const WidePass& w, float* packed, std::int64_t panel) {
    const Pass<float>& pass = w.pass;
    const std::int64_t depth = pass.depths.size(pass.first_block);
    const std::int64_t first = pass.panels.begin(panel) * kLanes<float>;
    const std::int64_t padded = pass.panels.size(panel) * kLanes<float>;
    const std::int64_t width = smaller(padded, pass.width - first);
    float* const to = packed + first * depth;
    const std::uint16_t* const from =
        w.g.b + pass.depths.begin(pass.first_block) * w.g.b_row + (pass.column + first) * w.g.b_col;
    if (w.g.b_col == 1) {
        for (std::int64_t k = 0; k < depth; ++k) {
            widen_run(to + k * padded, from + k * w.g.b_row, width);
        }
    } else {
        widen_columns(from, w.g.b_col, to, padded, depth, width);
    }
    fill_with_zeros(to, padded, depth, width);
}

template <class Loop>
void pack_wide(WidePass& w, const Loop& loop) {
    Pass<float>& pass = w.pass;
    const std::int64_t elements =
        pass.panels.total * kLanes<float> * pass.depths.size(pass.first_block);
    float* const to = scratch_for<Room::b>().take<float>(elements);
    const auto pack = [&w, to](std::int64_t panel) { pack_wide_panel(w, to, panel); };
    if (elements >= kParallelPack) {
        loop(pass.panels.parts, pack);
    } else {
        for (std::int64_t panel = 0; panel < pass.panels.parts; ++panel) pack(panel);
    }
    pass.packed = to;
}

/// Columns of A in the order of the tiles, [tile][k][row], what lies below the last row as 0.
inline void widen_tiles(const HalfArguments& g, const std::uint16_t* from, std::int64_t row,
                        const Tiles& tiles, std::int64_t depth, float* to) {
    std::int64_t readable = g.m - row;
    for (std::int64_t tile = 0; tile < tiles.count(); ++tile) {
        const std::int64_t rows = tiles.size(tile);
        for (std::int64_t k = 0; k < depth; ++k, to += kColumn<float>) {
            const std::uint16_t* const column = from + k * g.a_col;
            for (std::int64_t i = 0; i < rows; i += kLanes<float>) {
                const std::int64_t there = readable - i;
                store(to + i,
                      there >= kLanes<float> ? load(column + i) : load_partial(column + i, there));
            }
        }
        from += rows;
        readable -= rows;
    }
}

/// Points the tile at a copy of the chunk's part of A.
template <Order order>
void widen_a(const HalfArguments& g, std::int64_t row, std::int64_t first, const Tiles& tiles,
             Tile<float>& tile) {
    const std::uint16_t* const from = g.a + row * g.a_row + first * g.a_col;
    if constexpr (order == Order::rows) {
        // Not a power of two from one row to the next, so that they do not share the first cache's
        // few places.
        const std::int64_t line = tile.k + kLine<float>;
        float* const to = scratch_for<Room::a>().take<float>(tiles.rows * line);
        for (std::int64_t i = 0; i < tiles.rows; ++i) {
            widen_run(to + i * line, from + i * g.a_row, tile.k);
        }
        tile.a = to;
        tile.a_step = tile.a_below = line;
    } else {
        float* const to =
            scratch_for<Room::a>().take<float>(tiles.count() * tile.k * kColumn<float>);
        widen_tiles(g, from, row, tiles, tile.k, to);
        tile.a = to;
        tile.a_step = kColumn<float>;
        tile.a_tile = tile.k * kColumn<float>;
    }
}

// ---- the product --------------------------------------------------------------------------------

template <Order order>
void multiply_wide_chunk(const WidePass& w, std::int64_t down, std::int64_t across) {
    const Pass<float>& pass = w.pass;
    const std::int64_t row = pass.chunk_tiles.begin(down) * pass.tile_height;
    const std::int64_t end = pass.chunk_tiles.begin(down + 1) * pass.tile_height;
    const Tiles tiles{smaller(w.g.m, end) - row, pass.tile_height};
    const std::int64_t block = pass.first_block;
    Tile<float> tile;
    tile.k = pass.depths.size(block);
    tile.last_lanes = kLanes<float>;
    tile.accumulate = block > 0;
    widen_a<order>(w.g, row, pass.depths.begin(block), tiles, tile);
    constexpr std::int64_t kWidest = kTileVectors<order> * kLanes<float>;
    float* const room = scratch_for<Room::panel>().take<float>(tiles.rows * kWidest);
    for (std::int64_t panel = pass.chunk_panels.begin(across);
         panel < pass.chunk_panels.begin(across + 1); ++panel) {
        const std::int64_t vectors = pass.panels.size(panel);
        const std::int64_t first = pass.panels.begin(panel) * kLanes<float>;
        tile.c = w.sums == nullptr ? room : w.sums + row * w.sums_row + first;
        tile.c_row = w.sums == nullptr ? vectors * kLanes<float> : w.sums_row;
        tile.bias = w.bias != nullptr && block == 0 ? w.bias + pass.column + first : nullptr;
        tile.b = pass.packed + first * tile.k;
        tile.b_row = vectors * kLanes<float>;
        multiply_panel_of<float, order>(vectors, tiles, tile);
        if (block + 1 < pass.depths.parts) continue;
        const std::int64_t width = smaller(vectors * kLanes<float>, pass.width - first);
        std::uint16_t* const c = w.g.c + row * w.g.c_row + pass.column + first;
        for (std::int64_t i = 0; i < tiles.rows; ++i) {
            narrow_run(c + i * w.g.c_row, tile.c + i * tile.c_row, width);
        }
    }
}

template <Order order, class Loop>
void wide_gemm_in_order(const HalfArguments& g, const float* bias, std::int64_t threads,
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
        for (std::int64_t i = 0; i < pass.depths.parts; ++i) {
            pass.first_block = i;
            pack_wide(w, loop);
            loop(pass.chunk_tiles.parts * pass.chunk_panels.parts, [&w](std::int64_t chunk) {
                const std::int64_t across = w.pass.chunk_panels.parts;
                multiply_wide_chunk<order>(w, chunk / across, chunk % across);
            });
        }
    }
}

/// The bias as whole vectors of f32, or null.
inline const float* widened_bias(const HalfArguments& g) {
    if (g.bias == nullptr) return nullptr;
    const std::int64_t whole = divide_up(g.n, kLanes<float>) * kLanes<float>;
    float* const bias = scratch_for<Room::bias>().take<float>(whole);
    widen_run(bias, g.bias, g.n);
    for (std::int64_t j = g.n; j < whole; ++j) bias[j] = 0;
    return bias;
}

/// A, the bias and C of few rows are little beside B: they are f32 here, and B alone is read as it
/// is stored.
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
    if (g.k <= 0) {  // nothing to add up
        for (std::int64_t i = 0; i < g.m; ++i) {
            for (std::int64_t j = 0; j < g.n; ++j) {
                g.c[i * g.c_row + j] = g.bias != nullptr ? g.bias[j] : std::uint16_t{0};
            }
        }
        return;
    }
    const float* const bias = widened_bias(g);
    const Cut rows{g.m, g.k > kBlockK ? divide_up(g.m, kWaitingRows) : 1};
    for (std::int64_t i = 0; i < rows.parts; ++i) {
        HalfArguments some = g;
        some.m = rows.size(i);
        some.a += rows.begin(i) * g.a_row;
        some.c += rows.begin(i) * g.c_row;
        if (g.a_col == 1) {
            wide_gemm_in_order<Order::rows>(some, bias, threads, loop);
        } else {
            wide_gemm_in_order<Order::columns>(some, bias, threads, loop);
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
