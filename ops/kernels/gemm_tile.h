// The micro-kernel: keeps one tile of C in registers over a whole block of k. See gemm.h.
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
// Rows of A are read in place: a tile walks along its few contiguous rows. Columns of A, and rows
// of B, may be pages apart. They are read from a copy in the order of the loop, which the first
// tile that needs it makes, by storing what it loads. So there is almost no separate packing phase,
// during which no FMA would start.
#pragma once

#include <tapestry/ops/kernels/simd.h>

namespace tapestry::kernels::TAPESTRY_ISA_NAME {

/// Elements per cache line.
template <class T>
inline constexpr std::int64_t kLine = 64 / sizeof(T);
inline constexpr std::int64_t kLineOfHalves = kLine<std::uint16_t>;

/// Layout of a tile's A.
enum class Order {
    rows,     ///< rows are contiguous, read in place
    columns,  ///< columns are, or neither; the copy is [k][row]
};

#if defined(__AVX512BW__)
inline constexpr int kRegisters = 32;
/// Width of the widest tile, in vectors, and height of the tallest. A column of 14 fills most of a
/// cache line, one of 6 less than half: 128 x 512 x 4096 (C = A^T B) takes 20% less time than with
/// 6 x 4.
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

/// Rows of a full tile `vectors` wide: as many as fit in registers, but at most kTileRows, because
/// narrower tiles then have enough accumulators.
template <Order order>
constexpr int tile_rows(int vectors) {
#if defined(__aarch64__)
    // FMAs take their broadcast from a lane, so g++ and clang load all rows of A in advance, each
    // into a separate register: 5 x 4 fits, 6 x 4 and 8 x 3 spill.
    const int rows = (kRegisters - vectors) / (vectors + 1);
#else
    const int rows = (kRegisters - vectors - 1) / vectors;
#endif
    return rows < kTileRows<order> ? rows : kTileRows<order>;
}

/// Elements per step of k in a copy of columns: whole vectors.
template <class T>
inline constexpr std::int64_t kColumn =
    (kTileRows<Order::columns> + kLanes<T> - 1) / kLanes<T>* kLanes<T>;

/// A tile of C and its operands: `k` columns of A, `k` rows of a panel of B.
template <class T>
struct Tile {
    std::int64_t k = 0;
    std::int64_t rows = 0;        // actual rows; the code may handle one more
    std::int64_t last_lanes = 0;  // lanes of the last vector inside C
    const T* a = nullptr;         // A, or the copy of its columns
    std::int64_t a_step = 0;      // stride between rows, or between columns
    std::int64_t a_tile = 0;      // stride between the copies of tiles
    std::int64_t a_below = 0;     // stride between rows if A is read in place
    T* a_to = nullptr;            // the copy to make
    const T* a_from = nullptr;    // source of the copy; null once it is made
    std::int64_t a_row = 0, a_col = 0;
    std::int64_t a_readable = 0;  // elements of each column that may be read
    const T* b = nullptr;         // whole vectors
    std::int64_t b_row = 0;
    T* b_to = nullptr;  // copy to make for later tiles; null: all read b
    T* c = nullptr;
    std::int64_t c_row = 0;
    const T* bias = nullptr;
    bool accumulate = false;
    // Half-precision rows that the next tile will read, to prefetch meanwhile; null if none.
    const std::uint16_t* soon = nullptr;
    std::int64_t soon_row = 0;
};

/// A row of C whose last vector may be partly outside.
template <class T, int Vectors, bool whole>
struct RowOfC {
    std::int64_t last_lanes;

    [[gnu::always_inline]] Batch<T> load_vector(const T* row, int v) const {
        const T* const p = row + v * kLanes<T>;
        return whole || v + 1 < Vectors ? load(p) : load_partial(p, last_lanes);
    }
    [[gnu::always_inline]] void add(const T* row, Batch<T> (&sum)[Vectors]) const {
#pragma GCC unroll 4
        for (int v = 0; v < Vectors; ++v) sum[v] = sum[v] + load_vector(row, v);
    }
    [[gnu::always_inline]] void put(T* row, const Batch<T> (&sum)[Vectors]) const {
#pragma GCC unroll 4
        for (int v = 0; v < Vectors; ++v) {
            if (whole || v + 1 < Vectors) {
                store(row + v * kLanes<T>, sum[v]);
            } else {
                store_partial(row + v * kLanes<T>, sum[v], last_lanes);
            }
        }
    }
};

/// C = (accumulate ? C : 0) + sums, then + bias. Only the last row may be missing. The tile's
/// fields are read once for all rows: the compiler must assume that every store may change them,
/// and reloading them would slow short products.
template <bool whole, class T, int Vectors, int Rows>
[[gnu::always_inline]] inline void store_sums(const Tile<T>& t, Batch<T> (&sum)[Rows][Vectors]) {
    T* const c = t.c;
    const std::int64_t c_row = t.c_row;
    const RowOfC<T, Vectors, whole> row{t.last_lanes};
    const bool has_last = t.rows == Rows;
    constexpr int kLast = Rows - 1;
    if (t.accumulate) {
#pragma GCC unroll 16
        for (int i = 0; i < kLast; ++i) row.add(c + i * c_row, sum[i]);
        if (has_last) row.add(c + kLast * c_row, sum[kLast]);
    }
    if (t.bias != nullptr) {
        const T* const bias = t.bias;
#pragma GCC unroll 16
        for (int i = 0; i < Rows; ++i) row.add(bias, sum[i]);
    }
#pragma GCC unroll 16
    for (int i = 0; i < kLast; ++i) row.put(c + i * c_row, sum[i]);
    if (has_last) row.put(c + kLast * c_row, sum[kLast]);
}

/// The vector at p, of which `n` lanes may be read.
template <class T>
inline Batch<T> load_lanes(const T* p, std::int64_t n) {
    return n >= kLanes<T> ? load(p) : load_partial(p, n);
}

/// Copies the tile's columns of A, if its loop does not. After an odd number of rows the copy holds
/// zeros or other rows, which code for one more row reads: leftover memory could hold subnormals,
/// which make arithmetic slow.
template <class T>
void copy_columns(const Tile<T>& t) {
    T* to = t.a_to;
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

/// The operands that a tile's loop copies.
enum class Copies { nothing, a, b, both };

/// The state of a tile's loop, and its step.
template <class T, int Vectors, int Rows, Order order, Copies copies>
struct Walk {
    static constexpr bool kColumns = order == Order::columns;
    static constexpr bool kCopiesA = copies == Copies::a || copies == Copies::both;
    static constexpr bool kCopiesB = copies == Copies::b || copies == Copies::both;
    static constexpr std::int64_t kSoon = 16;  // prefetch distance in steps of k

    const T* a;
    const T* a_3;     // if Order::rows, rows 3 and 6: three rows share a pointer, with one or
    const T* a_6;     // two row strides added; a pointer for each would take registers
    const T* a_last;  // the last row; if it is missing, the one before
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
        const T* const column = kCopiesA ? a_from : a;
        const T* const rows[] = {a, a_3, a_6};
        if constexpr (kCopiesA) {
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
            const bool last = Rows > 1 && i + 1 == Rows;
            const Batch<T> x(kColumns ? column[i] : last ? *a_last : rows[i / 3][i % 3 * a_step]);
#pragma GCC unroll 4
            for (int v = 0; v < Vectors; ++v) sum[i][v] = fma(x, row[v], sum[i][v]);
        }
        a += kColumns ? a_step : 1;
        if constexpr (!kColumns) ++a_3, ++a_6, ++a_last;
        b += b_row;
        if constexpr (kCopiesB) b_to += Vectors * kLanes<T>;
    }

    [[gnu::always_inline]] void steps(std::int64_t n, Batch<T> (&sum)[Rows][Vectors]) {
        // In a tile that copies, unrolling would need too many registers.
        if constexpr (copies == Copies::nothing) {
#pragma GCC unroll 4
            for (std::int64_t j = 0; j < n; ++j) step(sum);
        } else {
#pragma GCC unroll 1
            for (std::int64_t j = 0; j < n; ++j) step(sum);
        }
    }
};

/// Prefetches rows [first, last) of the tile's C into L1.
template <class T, int Vectors>
[[gnu::always_inline]] inline void ask_for_c(const Tile<T>& t, std::int64_t first,
                                             std::int64_t last) {
    const std::int64_t c_row = t.c_row;
    const T* c = t.c + first * c_row;
#pragma GCC unroll 16
    for (std::int64_t i = first; i < last; ++i, c += c_row) {
#pragma GCC unroll 4
        for (int v = 0; v < Vectors; ++v) __builtin_prefetch(c + v * kLanes<T>, 1);
    }
}

/// Prefetches steps [k, k + steps) of the next tile's rows into L2. Not all at once, because a core
/// supports only about 24 outstanding requests.
template <class T>
[[gnu::always_inline]] inline void ask_for_next(const Tile<T>& t, std::int64_t k,
                                                std::int64_t steps) {
    const std::uint16_t* row = t.soon + k;
    for (std::int64_t i = 0; i < t.rows; ++i, row += t.soon_row) {
        for (std::int64_t j = 0; j < steps; j += kLineOfHalves) __builtin_prefetch(row + j, 0, 2);
    }
}

template <class T, int Vectors, int Rows, Order order, Copies copies = Copies::nothing>
void multiply_tile(const Tile<T>& t) {
    static_assert(order == Order::columns || copies == Copies::nothing || copies == Copies::b);
    Batch<T> sum[Rows][Vectors];
#pragma GCC unroll 16
    for (int i = 0; i < Rows; ++i) {
#pragma GCC unroll 4
        for (int v = 0; v < Vectors; ++v) sum[i][v] = Batch<T>(T(0));
    }
    Walk<T, Vectors, Rows, order, copies> walk{t.a,
                                               t.a + 3 * t.a_step,
                                               t.a + 6 * t.a_step,
                                               t.a + (t.rows - 1) * t.a_step,
                                               t.a_to,
                                               t.a_from,
                                               t.a_col,
                                               t.a_step,
                                               t.b,
                                               t.b_row,
                                               t.b_to};
    // The rows of C are far apart, each a separate miss, so they are prefetched early; a tile with
    // Order::columns, which has many rows and may be busy copying, prefetches only some at a time.
    if constexpr (order == Order::rows) {
        ask_for_c<T, Vectors>(t, 0, Rows);
        if constexpr (Vectors == kTileVectors<order>) {
            const std::int64_t run = t.soon == nullptr ? t.k : 64;
            for (std::int64_t k = 0; k < t.k; k += run) {
                if (t.soon != nullptr) ask_for_next(t, k, run);
                walk.steps(t.k - k < run ? t.k - k : run, sum);
            }
        } else {  // for narrow tiles clang has no registers left for this
            walk.steps(t.k, sum);
        }
    } else if (t.k > 0) {
        constexpr std::int64_t kRun = kRegisters == 32 ? 32 : 64;
        const std::int64_t run = t.k >= 4 * kRun ? kRun : (t.k + 15) / 16 * 4;
        const std::int64_t runs = (t.k + run - 1) / run, asks = (Rows + runs - 1) / runs;
        for (std::int64_t k = 0, row = 0; k < t.k; k += run, row += asks) {
            ask_for_c<T, Vectors>(t, row, row + asks < Rows ? row + asks : Rows);
            walk.steps(t.k - k < run ? t.k - k : run, sum);
        }
    }
    // Forces the tile's fields to be reloaded, which leaves the registers to the loop.
    asm("" ::: "memory");
    if (t.last_lanes == kLanes<T>) {
        store_sums<true>(t, sum);
    } else {
        store_sums<false>(t, sum);
    }
}

/// Multiplies a tile by code for its number of rows: there is code for even numbers, and for one.
template <class T, Order order, int Vectors, int Rows = tile_rows<order>(Vectors)>
void multiply_tile_of(const Tile<T>& t) {
    if constexpr (Rows > 1) {
        constexpr int kFewer = Rows > 2 ? (Rows - 1) / 2 * 2 : 1;
        if (t.rows <= kFewer) return multiply_tile_of<T, order, Vectors, kFewer>(t);
    }
    multiply_tile<T, Vectors, Rows, order>(t);
}

/// True if the loop of such a tile copies B.
template <Order order>
bool copies_b_in_loop(std::int64_t rows, std::int64_t vectors) {
    return vectors == kTileVectors<order> && rows == tile_rows<order>(kTileVectors<order>);
}

/// Multiplies a tile that copies the operands that it is the first to read. Full tiles of the
/// widest kind copy within their loop.
template <class T, Order order, int Vectors>
void multiply_first_tile(const Tile<T>& t) {
    constexpr int kRows = tile_rows<order>(Vectors);
    constexpr bool kWidest = Vectors == kTileVectors<order>;
    if constexpr (order == Order::columns) {
        if (t.a_from != nullptr) {
            const bool whole = t.rows == kRows && t.a_row == 1 && t.a_readable >= kColumn<T>;
            if constexpr (kWidest) {
                if (whole && t.b_to == nullptr) {
                    return multiply_tile<T, Vectors, kRows, order, Copies::a>(t);
                }
                if (whole) return multiply_tile<T, Vectors, kRows, order, Copies::both>(t);
            }
            copy_columns(t);
        }
    }
    if constexpr (kWidest) {
        if (t.b_to != nullptr) return multiply_tile<T, Vectors, kRows, order, Copies::b>(t);
    }
    multiply_tile_of<T, order, Vectors>(t);
}

}  // namespace tapestry::kernels::TAPESTRY_ISA_NAME
