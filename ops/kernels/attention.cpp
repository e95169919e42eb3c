// Compiled once per ISA.
//
// The products use the tiles of gemm.h on operands packed once per head: keys (in backward also
// values) transposed, [d, s], because a tile reads adjacent keys; the others with contiguous rows,
// because in a model, where all heads are side by side, rows are often a page apart.
//
//     forward, a block of kQueries queries at a time
//         S = Q K'          [kQueries, seen]: if causal, only keys that the last query sees
//         P = softmax(S)    rows in L1
//         y = P V
//     backward, as many queries at a time as P and dP leave half of L2
//         P again; dP = g V'; dS = P (dP - rowsum(dP P)), block by block; dq = dS K
//         dk += dS' Q, dv += P' g, a few keys at a time, over the queries that see any of them
#include <tapestry/ops/kernels/attention.h>
#include <tapestry/ops/kernels/attention_rows.h>
#include <tapestry/ops/kernels/gemm.h>

namespace tapestry::kernels::TAPESTRY_ISA_NAME {
namespace {

/// Queries per block, and keys per step of dk and dv, in whole tiles. Smaller blocks skip more
/// under a causal mask; larger ones reuse the other operand more.
constexpr std::int64_t kQueries = 4 * tile_rows<Order::rows>(kTileVectors<Order::rows>);
constexpr std::int64_t kKeys = 2 * tile_rows<Order::columns>(kTileVectors<Order::columns>);

template <class T>
constexpr std::int64_t padded(std::int64_t n) {
    return divide_up(n, kLanes<T>) * kLanes<T>;
}

/// Row stride of the scores: padded by a cache line, because rows 2^n apart would share a few cache
/// sets.
template <class T>
constexpr std::int64_t score_stride(std::int64_t s) {
    return padded<T>(s) + kLine<T>;
}

// ---- products -----------------------------------------------------------------------------------

/// c [m, n] = a [m, k] b [k, n], added to c if `accumulate`, on this thread. a may be transposed;
/// b's rows are readable up to whole vectors.
template <class T>
struct Product {
    std::int64_t m = 0, n = 0, k = 0;
    const T* a = nullptr;
    std::int64_t a_row = 0, a_col = 1;
    Rows<const T> b{};
    Rows<T> c{};
    bool accumulate = false;
};

template <Order order, class T>
void multiply_in_order(const Product<T>& p) {
    constexpr std::int64_t kWidth = kTileVectors<order> * kLanes<T>;
    const std::int64_t widest = divide_up(smaller(p.n, kWidth), kLanes<T>);
    const Tiles tiles{p.m, tile_rows<order>(static_cast<int>(widest))};
    Tile<T> tile;
    tile.k = p.k;
    tile.a = p.a;
    tile.a_step = order == Order::rows ? p.a_row : p.a_col;
    tile.a_below = p.a_row;
    tile.b_row = p.b.row;
    tile.c_row = p.c.row;
    tile.accumulate = p.accumulate;
    for (std::int64_t first = 0; first < p.n; first += kWidth) {
        const std::int64_t width = smaller(kWidth, p.n - first);
        const std::int64_t vectors = divide_up(width, kLanes<T>);
        tile.b = p.b.data + first;
        tile.c = p.c.data + first;
        tile.last_lanes = width - (vectors - 1) * kLanes<T>;
        multiply_panel_of<T, order>(vectors, tiles, tile);
    }
}

template <class T>
void multiply(const Product<T>& p) {
    if (p.n <= 0) return;
    if (p.a_col == 1) return multiply_in_order<Order::rows>(p);
    multiply_in_order<Order::columns>(p);
}

template <class T>
Rows<const T> constant(Rows<T> x) {
    return {x.data, x.row};
}

// ---- operands -----------------------------------------------------------------------------------

template <class T>
void set_zeros(Rows<T> x, std::int64_t rows, std::int64_t first, std::int64_t last) {
    for (std::int64_t i = 0; i < rows; ++i) {
        for (std::int64_t j = first; j < last; ++j) x.data[i * x.row + j] = T(0);
    }
}

/// Copies x [rows, n] to contiguous rows, zero-padded to whole vectors.
template <class T>
Rows<const T> together(Rows<const T> x, std::int64_t rows, std::int64_t n, T*& room) {
    const Rows<T> to{room, padded<T>(n)};
    room += rows * to.row;
    copy_rows(x.data, x.row, to.data, to.row, rows, n);
    set_zeros(to, rows, n, to.row);
    return constant(to);
}

/// Copies x [rows, n] transposed, [n, rows], with rows zero-padded to whole vectors.
template <class T>
Rows<const T> transposed(Rows<const T> x, std::int64_t rows, std::int64_t n, T*& room) {
    const Rows<T> to{room, score_stride<T>(rows)};
    room += n * to.row;
    copy_transposed(x.data, x.row, to.data, to.row, n, rows);
    set_zeros(to, n, rows, to.row);
    return constant(to);
}

template <class T>
constexpr std::int64_t room_together(std::int64_t rows, std::int64_t n) {
    return rows * padded<T>(n);
}

template <class T>
constexpr std::int64_t room_transposed(std::int64_t rows, std::int64_t n) {
    return n * score_stride<T>(rows);
}

// ---- weights ------------------------------------------------------------------------------------

/// to[i] = kept[i] ? factor from[i] : 0
template <class T>
void apply_dropout_mask(T* to, const T* from, const bool* kept, T factor, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) to[i] = kept[i] ? factor * from[i] : T(0);
}

template <class T>
void apply_dropout(const AttentionHead<T>& h, std::int64_t first, std::int64_t rows,
                   std::int64_t columns, Rows<T> x) {
    for (std::int64_t i = 0; h.kept.data != nullptr && i < rows; ++i) {
        T* const row = x.from(i).data;
        apply_dropout_mask(row, row, h.kept.from(first + i).data, h.keep_factor, columns);
    }
}

template <class T>
AttentionRows<T> score_rows(const AttentionHead<T>& h, std::int64_t first, std::int64_t rows,
                            Rows<T> scores, std::int64_t columns) {
    AttentionRows<T> r;
    r.scores = scores.data;
    r.rows = rows;
    r.columns = columns;
    r.stride = scores.row;
    r.visible = h.visible + first * h.visible_step;
    r.visible_step = h.visible_step;
    r.scale = h.scale;
    if (h.allowed.data != nullptr) {
        r.allowed = h.allowed.from(first).data;
        r.mask_stride = h.allowed.row;
    } else if (h.added.data != nullptr) {
        r.added = h.added.from(first).data;
        r.mask_stride = h.added.row;
    }
    return r;
}

/// The weights of `rows` queries from `first` on, over the first `columns` keys.
template <class T>
void compute_weights(const AttentionHead<T>& h, Rows<const T> keys, std::int64_t first,
                     std::int64_t rows, std::int64_t columns, Rows<T> to) {
    const Rows<const T> q = h.q.from(first);
    multiply(Product<T>{rows, columns, h.d, q.data, q.row, 1, keys, to});
    softmax_rows(score_rows(h, first, rows, to, columns));
}

// ---- forward ------------------------------------------------------------------------------------

/// Copies the weights p of `rows` queries over `columns` keys to the caller's buffer, if any.
template <class T>
void show_weights(Rows<const T> p, std::int64_t rows, std::int64_t columns, std::int64_t keys,
                  Rows<T> to) {
    if (to.data == nullptr) return;
    copy_rows(p.data, p.row, to.data, to.row, rows, columns);
    set_zeros(to, rows, columns, keys);
}

template <class T>
GemmArguments<T> plain_product(std::int64_t m, std::int64_t n, std::int64_t k, Rows<const T> a,
                               const T* b, std::int64_t b_row, std::int64_t b_col, Rows<T> c) {
    GemmArguments<T> g;
    g.m = m;
    g.n = n;
    g.k = k;
    g.a = a.data;
    g.a_row = a.row;
    g.a_col = 1;
    g.b = b;
    g.b_row = b_row;
    g.b_col = b_col;
    g.c = c.data;
    g.c_row = c.row;
    return g;
}

/// For one or a few queries, as in generation: keys and values are read once, in place.
template <class T>
void forward_of_few(const AttentionHead<T>& h, std::int64_t first, std::int64_t rows, Rows<T> y,
                    Rows<T> weights) {
    const std::int64_t columns = h.seen(first + rows - 1), stride = score_stride<T>(h.s);
    const Rows<T> p{scratch_for<Room::heads>().take<T>(rows * stride), stride};
    const Threads alone;
    gemm_of_few_rows(plain_product(rows, columns, h.d, h.q.from(first), h.k.data, 1, h.k.row, p),
                     alone);
    softmax_rows(score_rows(h, first, rows, p, columns));
    show_weights(constant(p), rows, columns, h.s, weights.from(first));
    apply_dropout(h, first, rows, columns, p);
    gemm_of_few_rows(
        plain_product(rows, h.e, columns, constant(p), h.v.data, h.v.row, 1, y.from(first)), alone);
}

template <class T>
void forward(const AttentionHead<T>& h, std::int64_t first, std::int64_t last, Rows<T> y,
             Rows<T> weights) {
    if (last - first <= kFewRows) return forward_of_few(h, first, last - first, y, weights);
    const std::int64_t stride = score_stride<T>(h.s), keys = h.seen(last - 1);
    T* room = scratch_for<Room::heads>().take<T>(room_transposed<T>(keys, h.d) +
                                                 room_together<T>(keys, h.e) + kQueries * stride);
    const Rows<const T> k = transposed(h.k, keys, h.d, room);
    const Rows<const T> v = together(h.v, keys, h.e, room);
    const Rows<T> p{room, stride};
    for (std::int64_t i = first; i < last; i += kQueries) {
        const std::int64_t rows = smaller(kQueries, last - i), columns = h.seen(i + rows - 1);
        compute_weights(h, k, i, rows, columns, p);
        show_weights(constant(p), rows, columns, h.s, weights.from(i));
        apply_dropout(h, i, rows, columns, p);
        multiply(Product<T>{rows, h.e, columns, p.data, p.row, 1, v, y.from(i)});
    }
}

// ---- backward -----------------------------------------------------------------------------------

/// One head's packed operands, and P and dS of the current queries.
template <class T>
struct Backward {
    const AttentionHead<T>& h;
    const AttentionHeadGradients<T>& to;
    Rows<const T> q{}, k{}, g{};                   // contiguous rows
    Rows<const T> keys_across{}, values_across{};  // [d, s] and [e, s]
    std::int64_t first = 0, count = 0;             // queries [first, first + count)
    Rows<T> p{}, ds{};                             // [count, s]

    bool wants_slopes() const { return to.q.data != nullptr || to.k.data != nullptr; }
};

/// Computes P, dS and dq for the block of queries from `i` on. Zero-fills P and dS to a multiple of
/// kKeys columns, which add_to_keys reads.
template <class T>
void go_back_through_rows(const Backward<T>& b, std::int64_t i, std::int64_t rows) {
    const AttentionHead<T>& h = b.h;
    const std::int64_t columns = h.seen(i + rows - 1);
    const std::int64_t end = smaller(h.s, divide_up(columns, kKeys) * kKeys);
    const Rows<T> p = b.p.from(i - b.first), ds = b.ds.from(i - b.first);
    compute_weights(h, b.keys_across, i, rows, columns, p);
    if (b.wants_slopes()) {
        const Rows<const T> g = b.g.from(i);
        multiply(Product<T>{rows, columns, h.e, g.data, g.row, 1, b.values_across, ds});
        apply_dropout(h, i, rows, columns, ds);
        softmax_rows_backward(score_rows(h, i, rows, ds, columns), p.data, p.row);
        set_zeros(ds, rows, columns, end);
    }
    apply_dropout(h, i, rows, columns, p);
    set_zeros(p, rows, columns, end);
    if (b.to.q.data == nullptr) return;
    multiply(Product<T>{rows, h.d, columns, ds.data, ds.row, 1, b.k, b.to.q.from(i)});
}

/// Adds the current queries' part to dk and dv of the keys from `j` on, for the queries that see
/// any of them.
template <class T>
void add_to_keys(const Backward<T>& b, std::int64_t j, std::int64_t keys, bool accumulate) {
    std::int64_t blind = 0;  // leading queries, in whole blocks, that see none of these keys
    while (blind < b.count && b.h.seen(b.first + smaller(blind + kQueries, b.count) - 1) <= j) {
        blind += kQueries;
    }
    const std::int64_t count = b.count - smaller(blind, b.count), first = b.first + blind;
    if (count == 0 && accumulate) return;
    const auto add = [&](Rows<T> to, Rows<T> slopes, Rows<const T> from, std::int64_t n) {
        if (to.data == nullptr) return;
        const T* const a = slopes.from(blind).data + j;
        multiply(
            Product<T>{keys, n, count, a, 1, slopes.row, from.from(first), to.from(j), accumulate});
    };
    add(b.to.k, b.ds, b.q, b.h.d);
    add(b.to.v, b.p, b.g, b.h.e);
}

/// Queries per pass: their P and dS fit in half of L2, but at least one block.
template <class T>
std::int64_t queries_at_a_time(const AttentionHead<T>& h) {
    constexpr std::int64_t kHalfOfL2 = 512 * 1024 / static_cast<std::int64_t>(sizeof(T));
    const std::int64_t blocks = kHalfOfL2 / (2 * score_stride<T>(h.s) * kQueries);
    return smaller(h.t, (blocks < 1 ? 1 : blocks) * kQueries);
}

template <class T>
void backward(const AttentionHead<T>& h, Rows<const T> g, const AttentionHeadGradients<T>& to) {
    const std::int64_t at_a_time = queries_at_a_time(h), stride = score_stride<T>(h.s);
    T* room = scratch_for<Room::heads>().take<T>(
        room_together<T>(h.t + h.s, h.d) + room_together<T>(h.t, h.e) +
        room_transposed<T>(h.s, h.d) + room_transposed<T>(h.s, h.e) + 2 * at_a_time * stride);
    Backward<T> b{h, to};
    b.q = together(h.q, h.t, h.d, room);
    b.k = together(h.k, h.s, h.d, room);
    b.g = together(g, h.t, h.e, room);
    b.keys_across = transposed(h.k, h.s, h.d, room);
    b.values_across = transposed(h.v, h.s, h.e, room);
    b.p = {room, stride};
    b.ds = {room + at_a_time * stride, stride};
    // The last queries go first: they see all keys, so dk and dv need not be zeroed.
    std::int64_t end = h.t;
    do {
        b.first = end > at_a_time ? end - at_a_time : 0;
        b.count = end - b.first;
        for (std::int64_t i = b.first; i < end; i += kQueries) {
            go_back_through_rows(b, i, smaller(kQueries, end - i));
        }
        for (std::int64_t j = 0; j < h.s; j += kKeys) {
            add_to_keys(b, j, smaller(kKeys, h.s - j), to.add_to_keys || end < h.t);
        }
        end = b.first;
    } while (end > 0);
}

template <class T>
void fill(Attention<T>& kernels) {
    kernels = {forward<T>, backward<T>};
}

}  // namespace

template <>
void install(Attention<float>& kernels) {
    fill(kernels);
}

template <>
void install(Attention<double>& kernels) {
    fill(kernels);
}

}  // namespace tapestry::kernels::TAPESTRY_ISA_NAME
