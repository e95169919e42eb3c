// The micro-kernel: one tile of C kept in registers over a whole block of k. See gemm.h.
//
// A step of k takes a column of the A tile (`Rows` numbers, each broadcast to a vector) and a row
// of the B panel (`Vectors` vectors) and adds their outer product to Rows x Vectors accumulators:
// Rows * Vectors FMAs for Rows + Vectors loads. Three things bound the tile's shape:
//   the registers  accumulators, the row of B and what A is broadcast to must fit, or the loop
//                  spills;
//   the latency    an FMA takes 4 cycles and two start per cycle: 8 accumulators or more;
//   the loads      two per cycle, like the FMAs: fewer loads than FMAs, so nearer a square.
// With 32 registers that is 6 x 4 (10 loads for 24 FMAs), with 16 registers 6 x 2.
#pragma once

#include <tapestry/ops/kernels/simd.h>

namespace tapestry::kernels::TAPESTRY_ISA_NAME {

#if defined(__AVX512BW__) || defined(__aarch64__)
inline constexpr int kRegisters = 32;
inline constexpr int kTileVectors = 4;  // the widest tile, in vectors
#else
inline constexpr int kRegisters = 16;
inline constexpr int kTileVectors = 2;
#endif

/// Rows of a full tile `vectors` wide: what the registers hold, 8 at most, for narrower tiles have
/// accumulators enough and the rows of A in flight should each find a way of the L1 cache.
constexpr int tile_rows(int vectors) {
#if defined(__aarch64__)
    // FMAs take their broadcast from a lane, so g++ and clang load all rows of A ahead, each into a
    // register of its own: 5 x 4 fits, 6 x 4 and 8 x 3 spill.
    const int rows = (kRegisters - vectors) / (vectors + 1);
#else
    const int rows = (kRegisters - vectors - 1) / vectors;
#endif
    return rows < 8 ? rows : 8;
}

/// Elements in a line of the cache.
template <class T>
inline constexpr std::int64_t kLine = 64 / sizeof(T);

/// What to ask of the memory meanwhile: each kLine<T> steps of k, a line at each of as many rows as
/// the tile has.
template <class T>
struct Fetch {
    const T* at = nullptr;  // null: nothing
    std::int64_t row = 0, step = 0;
};

/// A tile of C and what it is the product of: `k` columns of A, `k` rows of a panel of B.
template <class T>
struct Tile {
    std::int64_t k = 0;
    const T* a = nullptr;
    std::int64_t a_row = 0, a_col = 0;
    Fetch<T> fetch{};
    const T* b = nullptr;
    std::int64_t b_row = 0;
    T* c = nullptr;
    std::int64_t c_row = 0;
    const T* bias = nullptr;
    bool accumulate = false;
    std::int64_t last_lanes = 0;  // how much of the last vector lies inside C
};

template <class T, int Vectors>
inline void store_row(const Tile<T>& t, int i, const Batch<T> (&sum)[Vectors]) {
#pragma GCC unroll 4
    for (int v = 0; v < Vectors; ++v) {
        const std::int64_t column = v * kLanes<T>;
        T* const c = t.c + i * t.c_row + column;
        Batch<T> x = sum[v];
        if (v + 1 < Vectors || t.last_lanes == kLanes<T>) {
            if (t.accumulate) x = x + load(c);
            if (t.bias != nullptr) x = x + load(t.bias + column);
            store(c, x);
        } else {
            if (t.accumulate) x = x + load_partial(c, t.last_lanes);
            if (t.bias != nullptr) x = x + load_partial(t.bias + column, t.last_lanes);
            store_partial(c, x, t.last_lanes);
        }
    }
}

template <class T, int Vectors, int Rows>
void multiply_tile(const Tile<T>& t) {
    Batch<T> sum[Rows][Vectors];
    const T* a[Rows];
#pragma GCC unroll 8
    for (int i = 0; i < Rows; ++i) {
        a[i] = t.a + i * t.a_row;
#pragma GCC unroll 4
        for (int v = 0; v < Vectors; ++v) {
            sum[i][v] = Batch<T>(T(0));
            // The rows of C lie far apart, each its own miss: ask now, store when the sums are
            // ready. Worth a tenth at 2048 x 2048 x 2048.
            __builtin_prefetch(t.c + i * t.c_row + v * kLanes<T>, 1);
        }
    }
    const T* fetched = t.fetch.at;
    const T* b = t.b;
    for (std::int64_t k = 0, column = 0; k < t.k;) {
        if (fetched != nullptr) {
#pragma GCC unroll 8
            for (int i = 0; i < Rows; ++i) __builtin_prefetch(fetched + i * t.fetch.row);
            fetched += t.fetch.step;
        }
        const bool whole = fetched == nullptr || t.k - k < kLine<T>;
        const std::int64_t end = whole ? t.k : k + kLine<T>;
        for (; k < end; ++k, b += t.b_row, column += t.a_col) {
            Batch<T> row[Vectors];
#pragma GCC unroll 4
            for (int v = 0; v < Vectors; ++v) row[v] = load(b + v * kLanes<T>);
#pragma GCC unroll 8
            for (int i = 0; i < Rows; ++i) {
                const Batch<T> x(a[i][column]);
#pragma GCC unroll 4
                for (int v = 0; v < Vectors; ++v) sum[i][v] = fma(x, row[v], sum[i][v]);
            }
        }
    }
#pragma GCC unroll 8
    for (int i = 0; i < Rows; ++i) store_row(t, i, sum[i]);
}

/// multiply_tile for the `rows` there are, 1 .. tile_rows(Vectors).
template <class T, int Vectors, int Rows = tile_rows(Vectors)>
void multiply_tile_of(std::int64_t rows, const Tile<T>& t) {
    if (rows == Rows) {
        multiply_tile<T, Vectors, Rows>(t);
    } else if constexpr (Rows > 1) {
        multiply_tile_of<T, Vectors, Rows - 1>(rows, t);
    }
}

}  // namespace tapestry::kernels::TAPESTRY_ISA_NAME
