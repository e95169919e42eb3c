// The outer loops of every matrix product, and its threads:
//
//     for each strip of C:
//         for each pass, over one block of k if B is packed in advance, else over all:
//             pack the strip's columns of B, or leave it to the chunks              all threads
//             for each chunk of the strip, for each block of k:                     all threads
//                 multiply
//
// A Format knows how the operands are stored, so only it packs A and B and stores C:
//
//     Pass<Packed, vector> sizes() const;  elements of packed B, columns of a vector
//     begin_strip(pass, threads)           cuts the strip into chunks
//     parts_of_b(pass) const               into which packing in advance is divided
//     pack_b(pass, part, to) const         packs one of them
//     multiply(pass, chunk) const          packs the chunk's rows of A, multiplies, stores C
//
// There are three: f32 and f64 (gemm.h), bf16 widened to f32 (widened_gemm.h), and bf16 for an
// instruction that reads pairs (half_panels.h). Source of the idea that storage types change only
// packing and storing: Van Zee, Parikh, van de Geijn 2021, "Supporting Mixed-Domain Mixed-Precision
// Matrix Multiplication within the BLIS Framework".
#pragma once

#include <tapestry/core/parallel.h>
#include <tapestry/ops/kernels/gemm_pack.h>
#include <tapestry/ops/kernels/matmul.h>

namespace tapestry::kernels::TAPESTRY_ISA_NAME {

/// Elements of B below which packing is not worth waking other threads.
inline constexpr std::int64_t kParallelPack = 32'768;

/// The threads of a product; one for small products and for callers inside a parallel loop.
struct Threads {
    std::int64_t count = 1;

    /// Calls f(0 .. parts - 1), in any order.
    template <class F>
    void share(std::int64_t parts, const F& f) const {
        if (count > 1) return parallel_for_chunks(parts, f);
        for (std::int64_t part = 0; part < parts; ++part) f(part);
    }
};

inline Threads threads_if(bool worth_it) { return {worth_it ? num_threads() : 1}; }

/// bf16 operands, as bits.
using HalfArguments = GemmArguments<std::uint16_t>;

inline HalfArguments bits_of(const GemmArguments<Bf16>& g) {
    const auto bits = [](const Bf16* x) { return reinterpret_cast<const std::uint16_t*>(x); };
    return {g.m,     g.n,          g.k,     bits(g.a), g.a_row,
            g.a_col, bits(g.b),    g.b_row, g.b_col,   reinterpret_cast<std::uint16_t*>(g.c),
            g.c_row, bits(g.bias), false};
}

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

/// Columns of a strip: `width` from `first` on, in a panel of `padded`.
struct Panel {
    std::int64_t first, padded, width;
};

/// A thread's unit of work: the rows of C from `row` on, panels [first, last), and one block of k
/// of their sums.
struct Chunk {
    std::int64_t row;
    Tiles tiles;
    std::int64_t first_panel, last_panel, block;
};

/// The sizes of a product, and one pass of its loops: the blocks of k, the columns of C, and how C
/// is cut into chunks.
template <class Packed, std::int64_t vector>
struct Pass {
    static constexpr std::int64_t kVector = vector;  // columns
    std::int64_t m = 0, n = 0;
    std::int64_t widest = 1;                       // vectors of a panel
    Cut strips{};                                  // the vectors of n, into strips
    Cut depths{};                                  // k, into blocks
    bool packs = false;                            // B, in advance
    std::int64_t first_block = 0, last_block = 0;  // of this pass: [first, last)
    std::int64_t column = 0, width = 0;            // columns [column, column + width) of B and C
    const Packed* packed = nullptr;                // the block of B packed in advance, or null
    Cut panels{};                                  // the vectors of `width`, into panels
    std::int64_t tile_height = 1;
    Cut chunk_tiles{};   // the rows of C, counted in tiles, into chunks
    Cut chunk_panels{};  // the panels, into chunks

    std::int64_t longest_depth() const { return divide_up(depths.total, depths.parts); }
    Panel panel(std::int64_t i) const {
        const std::int64_t first = panels.begin(i) * vector, end = panels.begin(i + 1) * vector;
        return {first, end - first, smaller(end, width) - first};
    }
    /// Calls f(panel) for panels [i, last), with one division for each.
    template <class F>
    void for_panels(std::int64_t i, std::int64_t last, const F& f) const {
        const Cut cut = panels;
        const std::int64_t columns = width;
        for (std::int64_t first = cut.begin(i) * vector; i < last; ++i) {
            const std::int64_t end = cut.begin(i + 1) * vector;
            f(Panel{first, end - first, smaller(end, columns) - first});
            first = end;
        }
    }
    Chunk chunk(std::int64_t i) const {
        const std::int64_t down = i / chunk_panels.parts, across = i % chunk_panels.parts;
        const std::int64_t row = chunk_tiles.begin(down) * tile_height;
        const std::int64_t end = smaller(m, chunk_tiles.begin(down + 1) * tile_height);
        return {row, Tiles{end - row, tile_height}, chunk_panels.begin(across),
                chunk_panels.begin(across + 1), first_block};
    }
};

/// For k = 0: C = (accumulate ? C : 0) + bias. Also for bf16 bits, which are not accumulated.
template <class T>
void gemm_of_empty_sums(const GemmArguments<T>& g) {
    if (g.accumulate && g.bias == nullptr) return;
    for (std::int64_t i = 0; i < g.m; ++i) {
        for (std::int64_t j = 0; j < g.n; ++j) {
            T& c = g.c[i * g.c_row + j];
            c = static_cast<T>((g.accumulate ? c : T(0)) + (g.bias != nullptr ? g.bias[j] : T(0)));
        }
    }
}

template <class Format, class Packed, std::int64_t vector>
void pack_in_advance(const Format& format, Pass<Packed, vector>& pass, const Threads& threads) {
    const std::int64_t elements = pass.panels.total * vector * pass.depths.size(pass.first_block);
    Packed* const to = scratch_for<Room::b>().take<Packed>(elements);
    const Threads enough = elements >= kParallelPack ? threads : Threads{};
    enough.share(format.parts_of_b(pass),
                 [&](std::int64_t part) { format.pack_b(pass, part, to); });
    pass.packed = to;
}

/// The whole product.
template <class Format>
void multiply_in_chunks(Format format, const Threads& threads) {
    auto pass = format.sizes();
    for (std::int64_t j = 0; j < pass.strips.parts; ++j) {
        const std::int64_t vectors = pass.strips.size(j);
        pass.column = pass.strips.begin(j) * pass.kVector;
        pass.width = smaller(vectors * pass.kVector, pass.n - pass.column);
        pass.panels = {vectors, divide_up(vectors, pass.widest)};
        format.begin_strip(pass, threads.count);
        for (std::int64_t i = 0; i < pass.depths.parts; i = pass.last_block) {
            pass.first_block = i;
            pass.last_block = pass.packs ? i + 1 : pass.depths.parts;
            if (pass.packs) pack_in_advance(format, pass, threads);
            threads.share(pass.chunk_tiles.parts * pass.chunk_panels.parts, [&](std::int64_t part) {
                Chunk chunk = pass.chunk(part);
                for (; chunk.block < pass.last_block; ++chunk.block) format.multiply(pass, chunk);
            });
        }
    }
}

}  // namespace tapestry::kernels::TAPESTRY_ISA_NAME
