// C = A B. (header comment to come)
#pragma once

#include "core/parallel.h"
#include "ops/kernels/gemm_arguments.h"
#include "ops/kernels/gemm_pack.h"
#include "ops/kernels/gemm_tile.h"

#ifndef KC
#define KC 256
#endif
#ifndef MC
#define MC 96
#endif
#ifndef NCH
#define NCH 256
#endif
#ifndef NC
#define NC 2048
#endif
#ifndef PACKA
#define PACKA 1
#endif
#ifndef CHUNKS
#define CHUNKS 16
#endif
#ifndef THRESH
#define THRESH 1000000
#endif

namespace tapestry::kernels::TAPESTRY_ISA_NAME {

inline constexpr std::int64_t kBlockK = KC;
inline constexpr std::int64_t kBlockM = MC;
inline constexpr std::int64_t kBlockN = NC;
inline constexpr std::int64_t kChunkN = NCH;
inline constexpr std::int64_t kChunks = CHUNKS;
inline constexpr std::int64_t kParallelWork = THRESH;

constexpr std::int64_t at_least(std::int64_t x, std::int64_t low) {
    return x < low ? low : x;
}
constexpr std::int64_t at_most(std::int64_t x, std::int64_t high) {
    return x < high ? x : high;
}
constexpr std::int64_t divide_up(std::int64_t x, std::int64_t y) {
    return (x + y - 1) / y;
}

/// `total` things cut into `parts` runs whose lengths differ by at most one: 257 is 129 + 128, not
/// 256 and a runt that keeps few accumulators busy.
struct Cut {
    std::int64_t total = 0, parts = 1;
    std::int64_t begin(std::int64_t part) const { return total * part / parts; }
    std::int64_t size(std::int64_t part) const { return begin(part + 1) - begin(part); }
};

template <class T>
struct Block {
    GemmArguments<T> g;     // the whole product
    std::int64_t k = 0;     // the block is k .. k + depth
    std::int64_t depth = 0;
    std::int64_t n = 0;     // columns n .. n + width
    std::int64_t width = 0;
    T* packed = nullptr;    // B[k.., n..] in panels
    Cut vectors;            // of the width, into panels
    Cut row_chunks, panel_chunks;
};

template <class T>
void pack_panel(const Block<T>& s, std::int64_t panel) {
    const std::int64_t first = s.vectors.begin(panel) * kLanes<T>;
    const std::int64_t padded = s.vectors.size(panel) * kLanes<T>;
    const std::int64_t width = at_most(padded, s.width - first);
    T* const to = s.packed + first * s.depth;
    copy_block(s.g.b + s.k * s.g.b_row + (s.n + first) * s.g.b_col, s.g.b_row, s.g.b_col, to,
               padded, s.depth, width);
    for (std::int64_t i = 0; width < padded && i < s.depth; ++i) {
        for (std::int64_t j = width; j < padded; ++j) to[i * padded + j] = T(0);
    }
}

template <class T, int Vectors>
void multiply_panel(TileOperands<T> t, std::int64_t rows) {
    const Cut tiles{rows, divide_up(rows, tile_rows(Vectors))};
    const T* const a = t.a;
    T* const c = t.c;
    for (std::int64_t tile = 0; tile < tiles.parts; ++tile) {
        t.a = a + tiles.begin(tile) * t.a_row;
        t.c = c + tiles.begin(tile) * t.c_row;
        multiply_rows<T, Vectors>(tiles.size(tile), t);
    }
}

template <class T, int Vectors = kPanelVectors>
void multiply_panel(std::int64_t vectors, const TileOperands<T>& t, std::int64_t rows) {
    if (vectors == Vectors) {
        multiply_panel<T, Vectors>(t, rows);
    } else if constexpr (Vectors > 1) {
        multiply_panel<T, Vectors - 1>(vectors, t, rows);
    }
}

inline Scratch& scratch_a() {
    static thread_local Scratch scratch;
    return scratch;
}
inline Scratch& scratch_b() {
    static thread_local Scratch scratch;
    return scratch;
}

template <class T>
void multiply_chunk(const Block<T>& s, std::int64_t chunk) {
    const std::int64_t i = chunk / s.panel_chunks.parts;
    const std::int64_t j = chunk % s.panel_chunks.parts;
    const std::int64_t row = s.row_chunks.begin(i), rows = s.row_chunks.size(i);
    TileOperands<T> t;
    t.k = s.depth;
    t.a = s.g.a + row * s.g.a_row + s.k * s.g.a_col;
    t.a_row = s.g.a_row;
    t.a_col = s.g.a_col;
    if (PACKA) {
        T* const to = scratch_a().template take<T>(rows * s.depth);
        if (s.g.a_row == 1) {
            copy_block(t.a, t.a_col, t.a_row, to, rows, s.depth, rows);
            t.a_row = 1;
            t.a_col = rows;
        } else {
            copy_block(t.a, t.a_row, t.a_col, to, s.depth, rows, s.depth);
            t.a_row = s.depth;
            t.a_col = 1;
        }
        t.a = to;
    }
    t.accumulate = s.g.accumulate || s.k > 0;
    t.c_row = s.g.c_row;
    for (std::int64_t p = s.panel_chunks.begin(j); p < s.panel_chunks.begin(j + 1); ++p) {
        const std::int64_t first = s.vectors.begin(p) * kLanes<T>;
        const std::int64_t vectors = s.vectors.size(p);
        t.b = s.packed + first * s.depth;
        t.c = s.g.c + row * s.g.c_row + s.n + first;
        t.bias = s.g.bias != nullptr && s.k == 0 ? s.g.bias + s.n + first : nullptr;
        t.last = at_most(s.width - first - (vectors - 1) * kLanes<T>, kLanes<T>);
        multiply_panel(vectors, t, rows);
    }
}

template <class T, class Loop>
void multiply_blocks(const GemmArguments<T>& g, std::int64_t wanted, const Loop& loop) {
    if (g.m <= 0 || g.n <= 0) return;
    const Cut depths{g.k, at_least(divide_up(g.k, kBlockK), 1)};
    const Cut widths{divide_up(g.n, kLanes<T>), divide_up(g.n, kBlockN)};
    Block<T> s;
    s.g = g;
    for (std::int64_t jc = 0; jc < widths.parts; ++jc) {
        s.n = widths.begin(jc) * kLanes<T>;
        s.width = at_most(widths.begin(jc + 1) * kLanes<T>, g.n) - s.n;
        s.vectors.total = widths.size(jc);
        s.vectors.parts = divide_up(s.vectors.total, kPanelVectors);
        const std::int64_t panels = s.vectors.parts;
        std::int64_t across = divide_up(s.width, kChunkN);
        const std::int64_t down = at_least(divide_up(g.m, kBlockM),
            at_most(divide_up(wanted, across), divide_up(g.m, 24)));
        across = at_least(across, at_most(divide_up(wanted, down), panels));
        s.row_chunks = {g.m, down};
        s.panel_chunks = {panels, across};
        for (std::int64_t pc = 0; pc < depths.parts; ++pc) {
            s.k = depths.begin(pc);
            s.depth = depths.size(pc);
            s.packed = scratch_b().template take<T>(s.vectors.total * kLanes<T> * s.depth);
            loop(panels, [&](std::int64_t panel) { pack_panel(s, panel); });
            loop(down * across, [&](std::int64_t chunk) { multiply_chunk(s, chunk); });
        }
    }
}

template <class T>
void gemm_serial(const GemmArguments<T>& g) {
    multiply_blocks(g, 1, [](std::int64_t chunks, const auto& f) {
        for (std::int64_t chunk = 0; chunk < chunks; ++chunk) f(chunk);
    });
}

template <class T>
void gemm(const GemmArguments<T>& g) {
    if (g.m * g.n * g.k < kParallelWork) return gemm_serial(g);
    multiply_blocks(g, kChunks, [](std::int64_t chunks, const auto& f) {
        parallel_for_chunks(chunks, f);
    });
}

}  // namespace tapestry::kernels::TAPESTRY_ISA_NAME
