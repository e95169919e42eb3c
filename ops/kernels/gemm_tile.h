// The micro-kernel: one tile of C kept in registers over a whole block of k. See gemm.h.
//
// A step of k takes a column of the A tile (`Rows` numbers, each broadcast to a vector) and a row
// of the B panel (`Vectors` vectors) and adds their outer product to Rows x Vectors accumulators:
// Rows * Vectors FMAs for Rows + Vectors loads. Three things bound the tile's shape:
//   the registers  accumulators, the row of B and what A is broadcast to must fit, or the loop
//                  spills;
//   the latency    an FMA takes 4 cycles and two start per cycle: 8 accumulators or more;
//   the loads      two per cycle, like the FMAs: fewer loads than FMAs, so nearer a square.
// With 32 registers that is 6 x 4 (10 loads for 24 FMAs) or 14 x 2 (16 for 28), with 16 registers
// 6 x 2.
//
// A is read from a copy, in the order of the loop, which the first tile that needs it makes: a row
// of B that it has loaded, or a column of A, it stores as well, and from rows of A it copies what
// the next kRun steps of k need. So hardly anything is packed as a phase of its own, during which
// no FMA would start. The copy of A keeps its rows, or its columns, as runs of memory: nothing is
// transposed.
#pragma once

#include <tapestry/ops/kernels/simd.h>

namespace tapestry::kernels::TAPESTRY_ISA_NAME {

/// Elements in a line of the cache.
template <class T>
inline constexpr std::int64_t kLine = 64 / sizeof(T);

/// How a tile's A lies, there and in the copy.
enum class Order {
    rows,     ///< a row is a run of memory; the copy is [run][row][k of the run]
    columns,  ///< a column is; the copy is [k][row]
};

#if defined(__AVX512BW__)
inline constexpr int kRegisters = 32;
/// The widest tile, in vectors, and the highest. A column of 14 is most of a cache line, one of 6
/// less than half: 128 x 512 x 4096 (C = A^T B) takes a fifth less time than with 6 x 4.
template <Order order>
inline constexpr int kTileVectors = order == Order::columns ? 2 : 4;
template <Order order>
inline constexpr int kTileRows = order == Order::columns ? 14 : 8;
#else
#if defined(__aarch64__)
inline constexpr int kRegisters = 32;
#else
inline constexpr int kRegisters = 16;
#endif
template <Order order>
inline constexpr int kTileVectors = kRegisters == 32 ? 4 : 2;
template <Order order>
inline constexpr int kTileRows = 8;
#endif

/// Steps of k in a run. A tile with 16 registers takes half as long for a step, and wants more of
/// them.
inline constexpr std::int64_t kRun = kRegisters == 32 ? 32 : 64;

/// Rows of a full tile `vectors` wide: what the registers hold, and at most kTileRows, for narrower
/// tiles have accumulators enough.
template <Order order>
constexpr int tile_rows(int vectors) {
#if defined(__aarch64__)
    // FMAs take their broadcast from a lane, so g++ and clang load all rows of A ahead, each into a
    // register of its own: 5 x 4 fits, 6 x 4 and 8 x 3 spill.
    const int rows = (kRegisters - vectors) / (vectors + 1);
#else
    const int rows = (kRegisters - vectors - 1) / vectors;
#endif
    return rows < kTileRows<order> ? rows : kTileRows<order>;
}

/// Elements from one step of k to the next in a copy of columns: whole vectors.
template <class T>
inline constexpr std::int64_t kColumn =
    (kTileRows<Order::columns> + kLanes<T> - 1) / kLanes<T>* kLanes<T>;

/// Elements that a run takes in the copy of a tile with `rows` rows.
template <class T, Order order>
constexpr std::int64_t run_of_copy(std::int64_t rows) {
    return kRun * (order == Order::columns ? kColumn<T> : rows);
}

/// A tile of C and what it is the product of: `k` columns of A, `k` rows of a panel of B.
template <class T>
struct Tile {
    std::int64_t k = 0;
    std::int64_t rows = 0;        // those that are there; the code may be for one more
    std::int64_t last_lanes = 0;  // how much of the last vector lies inside C
    const T* a = nullptr;         // the copy; columns may be read in place
    std::int64_t a_run = 0;       // elements from one run of rows to the next there
    std::int64_t a_step = 0;      // from one step of columns to the next
    std::int64_t a_tile = 0;      // to the A of the tile below
    T* a_to = nullptr;            // the same, while it is to be made
    const T* a_from = nullptr;    // null: it was made. Else where A is
    std::int64_t a_row = 0, a_col = 0;
    std::int64_t a_readable = 0;  // elements that may be read of each column
    const T* b = nullptr;         // whole vectors
    std::int64_t b_row = 0;
    T* b_to = nullptr;  // null: B is read where it is by all. Else a copy for later tiles
    T* c = nullptr;
    std::int64_t c_row = 0;
    const T* bias = nullptr;
    bool accumulate = false;
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

/// The vector at p, of which `n` lanes may be read.
template <class T>
inline Batch<T> load_lanes(const T* p, std::int64_t n) {
    return n >= kLanes<T> ? load(p) : load_partial(p, n);
}

/// The `n` steps of a run, from k on, of `rows` rows of A.
template <class T>
inline void copy_rows_of_run(const Tile<T>& t, std::int64_t rows, std::int64_t k, std::int64_t n,
                             T* to) {
    const T* from = t.a_from + k;
    for (std::int64_t i = 0; i < rows; ++i, from += t.a_row, to += kRun) {
        for (std::int64_t j = 0; j < n; j += kLanes<T>) store(to + j, load_lanes(from + j, n - j));
    }
}

/// The tile's A, where the tile's own loop does not copy it. Behind an odd number of rows stands
/// one of zeros, for code that is for one more: what memory happens to hold could be subnormal, and
/// arithmetic with that is slow.
template <class T, Order order>
void copy_a(const Tile<T>& t) {
    T* to = t.a_to;
    const bool odd = t.rows % 2 == 1 && t.rows * kRun < t.a_run;
    if constexpr (order == Order::rows) {
        for (std::int64_t k = 0; k < t.k; k += kRun, to += t.a_run) {
            copy_rows_of_run(t, t.rows, k, t.k - k < kRun ? t.k - k : kRun, to);
            for (std::int64_t j = 0; odd && j < kRun; ++j) to[t.rows * kRun + j] = T(0);
        }
        return;
    }
    const T* from = t.a_from;
    for (std::int64_t k = 0; k < t.k; ++k, from += t.a_col, to += kColumn<T>) {
        if (t.a_row != 1) {
            for (std::int64_t i = 0; i < t.rows; ++i) to[i] = from[i * t.a_row];
            for (std::int64_t i = t.rows; i < kColumn<T>; ++i) to[i] = T(0);
            continue;
        }
        for (std::int64_t i = 0; i < t.rows; i += kLanes<T>) {
            store(to + i, load_lanes(from + i, t.a_readable - i));
        }
    }
}

/// What the loop of a tile copies on its way.
enum class Copies { nothing, a, b, both };

/// Where the loop of a tile stands, and how it goes on.
template <class T, int Vectors, int Rows, Order order, Copies copies>
struct Walk {
    static constexpr bool kColumns = order == Order::columns;
    static constexpr bool kCopiesA = copies == Copies::a || copies == Copies::both;
    static constexpr bool kCopiesB = copies == Copies::b || copies == Copies::both;
    static constexpr std::int64_t kSoon = 16;  // steps of k from a request to its use

    const T* a;
    T* a_to;
    const T* a_from;
    std::int64_t a_col, a_step;
    const T* b;
    std::int64_t b_row;
    T* b_to;

    [[gnu::always_inline]] void step(Batch<T> (&sum)[Rows][Vectors]) {
        Batch<T> row[Vectors];
#pragma GCC unroll 4
        for (int v = 0; v < Vectors; ++v) {
            row[v] = load(b + v * kLanes<T>);
            if constexpr (kCopiesB) {
                store(b_to + v * kLanes<T>, row[v]);
                __builtin_prefetch(b + kSoon * b_row + v * kLanes<T>);
            }
        }
        const T* column = a;
        if constexpr (kCopiesA && kColumns) {
            column = a_from;
#pragma GCC unroll 4
            for (std::int64_t i = 0; i < kColumn<T>; i += kLanes<T>)
                store(a_to + i, load(a_from + i));
            __builtin_prefetch(a_from + kSoon * a_col);
            __builtin_prefetch(a_from + kSoon * a_col + Rows - 1);
            a_from += a_col;
            a_to += kColumn<T>;
        }
#pragma GCC unroll 16
        for (int i = 0; i < Rows; ++i) {
            const Batch<T> x(column[kColumns ? i : i * kRun]);
#pragma GCC unroll 4
            for (int v = 0; v < Vectors; ++v) sum[i][v] = fma(x, row[v], sum[i][v]);
        }
        a += kColumns ? a_step : 1;
        b += b_row;
        if constexpr (kCopiesB) b_to += Vectors * kLanes<T>;
    }
};

template <class T, int Vectors, int Rows, Order order, Copies copies = Copies::nothing>
void multiply_tile(const Tile<T>& t) {
    constexpr bool kRows = order == Order::rows;
    Batch<T> sum[Rows][Vectors];
#pragma GCC unroll 16
    for (int i = 0; i < Rows; ++i) {
#pragma GCC unroll 4
        for (int v = 0; v < Vectors; ++v) sum[i][v] = Batch<T>(T(0));
    }
    Walk<T, Vectors, Rows, order, copies> walk{t.a,      t.a_to, t.a_from, t.a_col,
                                               t.a_step, t.b,    t.b_row,  t.b_to};
    // The rows of C lie far apart, each its own miss: asked for long before they are needed, and of
    // many only some at a time.
    const std::int64_t runs = (t.k + kRun - 1) / kRun;
    const std::int64_t asks = kRows || runs < 2 ? t.rows : (t.rows + runs - 1) / runs;
    std::int64_t asked = 0;
    for (std::int64_t k = 0; k < t.k; k += kRun) {
        for (const std::int64_t end = asked + asks; asked < end && asked < t.rows; ++asked) {
            for (int v = 0; v < Vectors; ++v) {
                __builtin_prefetch(t.c + asked * t.c_row + v * kLanes<T>, 1);
            }
        }
        const T* const run = walk.a;
        const std::int64_t n = t.k - k < kRun ? t.k - k : kRun;
        if constexpr (kRows && walk.kCopiesA) copy_rows_of_run(t, Rows, k, n, t.a_to + (run - t.a));
        // Of a tile that copies, several steps at once would want more registers than there are.
        if constexpr (copies == Copies::nothing) {
#pragma GCC unroll 4
            for (std::int64_t j = 0; j < n; ++j) walk.step(sum);
        } else {
#pragma GCC unroll 1
            for (std::int64_t j = 0; j < n; ++j) walk.step(sum);
        }
        if constexpr (kRows) walk.a = run + t.a_run;
    }
#pragma GCC unroll 16
    for (int i = 0; i < Rows; ++i) {
        if (i < t.rows) store_row(t, i, sum[i]);
    }
}

/// A tile of the rows there are, its A copied: code for even numbers of them, and for one.
template <class T, Order order, int Vectors, int Rows = tile_rows<order>(Vectors)>
void multiply_tile_of(const Tile<T>& t) {
    if constexpr (Rows > 1) {
        constexpr int kFewer = Rows > 2 ? (Rows - 1) / 2 * 2 : 1;
        if (t.rows <= kFewer) return multiply_tile_of<T, order, Vectors, kFewer>(t);
    }
    multiply_tile<T, Vectors, Rows, order>(t);
}

/// Does the loop of such a tile copy B?
template <Order order>
bool copies_b_in_loop(std::int64_t rows, std::int64_t vectors) {
    return vectors == kTileVectors<order> && rows == tile_rows<order>(kTileVectors<order>);
}

/// A tile that copies what it is the first to read. Whole tiles of the widest kind do that in
/// their loop.
template <class T, Order order, int Vectors>
void multiply_first_tile(const Tile<T>& t) {
    const bool copies_a = t.a_from != nullptr;
    if constexpr (Vectors == kTileVectors<order>) {
        constexpr int kRows = tile_rows<order>(Vectors);
        const bool in_loop = copies_a && t.rows == kRows &&
                             (order == Order::rows || (t.a_row == 1 && t.a_readable >= kColumn<T>));
        if (copies_a && !in_loop) copy_a<T, order>(t);
        if (t.b_to != nullptr) {
            if (in_loop) return multiply_tile<T, Vectors, kRows, order, Copies::both>(t);
            return multiply_tile<T, Vectors, kRows, order, Copies::b>(t);
        }
        if (in_loop) return multiply_tile<T, Vectors, kRows, order, Copies::a>(t);
    } else if (copies_a) {
        copy_a<T, order>(t);
    }
    multiply_tile_of<T, order, Vectors>(t);
}

}  // namespace tapestry::kernels::TAPESTRY_ISA_NAME
