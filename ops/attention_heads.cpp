// A product, a softmax over its rows (or its gradient) while they are in the cache, a product.
// Blocks of queries keep the scores in the cache, and under a causal mask skip most of what they
// may not see. Heads, and going forward blocks as well, are shared among the threads.
#include <tapestry/core/copy.h>
#include <tapestry/core/parallel.h>
#include <tapestry/core/views.h>
#include <tapestry/ops/attention_heads.h>
#include <tapestry/ops/batch.h>
#include <tapestry/ops/keep.h>
#include <tapestry/ops/kernels/table.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace tapestry {

Shape Attend::shape(std::int64_t rows, std::int64_t columns) const {
    Shape result = leading;
    result.push_back(rows);
    result.push_back(columns);
    return result;
}

std::int64_t Attend::seen(std::int64_t i) const {
    return std::clamp<std::int64_t>(visible(i), 0, s);
}

Tensor Attend::heads_inside(std::int64_t rows, std::int64_t columns, DType dtype) const {
    Shape memory = shape(rows, columns);
    if (leading.rank() < 2) return Tensor(memory, dtype);
    const int head = leading.rank() - 1;
    std::swap(memory[head], memory[head + 1]);
    return views::transpose(Tensor(memory, dtype), head, head + 1);
}

namespace {

// Queries per block: enough that the products are worth packing their right-hand sides, few enough
// that a causal block skips much.
constexpr std::int64_t kQueries = 32;

struct Block {
    std::int64_t head, first, rows;
    std::int64_t seen;   // keys its last query sees: no other sees more
    std::int64_t place;  // of its first row in [heads, T, S]

    Block(const Attend& a, std::int64_t of_head, std::int64_t number)
        : head(of_head),
          first(number * kQueries),
          rows(std::min(kQueries, a.t - first)),
          seen(a.seen(first + rows - 1)),
          place((head * a.t + first) * a.s) {}

    static std::int64_t count(const Attend& a) {
        return std::max<std::int64_t>(1, (a.t + kQueries - 1) / kQueries);
    }
};

// ---- matrices -----------------------------------------------------------------------------------

// Element (i, j) lies at data + i * row + j * column. P is T or const T.
template <class P>
struct Matrix {
    P* data;
    std::int64_t row, column;
    Matrix transposed() const { return {data, column, row}; }
    Matrix from_row(std::int64_t i) const { return {data + i * row, row, column}; }
};

// The matrices of a tensor [leading..., rows, columns].
template <class P>
struct Heads {
    P* data;
    Shape leading;
    Strides strides;
    std::int64_t row, column;

    Heads(P* first, const Tensor& x, const Shape& all)
        : data(first),
          leading(all),
          strides(leading_strides(x, all)),
          row(x.strides()[x.rank() - 2]),
          column(x.strides()[x.rank() - 1]) {}
    Matrix<P> operator[](std::int64_t i) const {
        return {data + offset_at(i, leading, strides), row, column};
    }
};

template <class T>
Heads<const T> reading(const Tensor& x, const Shape& leading) {
    return {x.data<T>(), x, leading};
}

template <class T>
std::optional<Heads<T>> writing(Tensor& x, const Shape& leading) {
    if (!x.defined()) return std::nullopt;
    return Heads<T>(x.mutable_data<T>(), x, leading);
}

// c [m, n] = a [m, k] b [k, n], added to c if `accumulate`.
template <class T>
void product(Matrix<const T> a, Matrix<const T> b, Matrix<T> c, std::int64_t m, std::int64_t n,
             std::int64_t k, bool accumulate = false) {
    kernels::GemmArguments<T> g;
    g.m = m;
    g.n = n;
    g.k = k;
    g.a = a.data;
    g.a_row = a.row;
    g.a_col = a.column;
    g.b = b.data;
    g.b_row = b.row;
    g.b_col = b.column;
    g.c = c.data;
    g.c_row = c.row;
    g.accumulate = accumulate;
    kernels::table<T>().gemm.gemm_serial(g);
}

// What products read must have adjacent elements, along rows or at least along columns.
Tensor readable(const Tensor& x) {
    const bool adjacent = x.strides()[x.rank() - 1] == 1 || x.strides()[x.rank() - 2] == 1;
    return adjacent ? x.detach() : dense(x);
}

// ---- scores -------------------------------------------------------------------------------------

// The mask with S adjacent columns; its other axes may stay broadcast.
Tensor readable_mask(const Tensor& mask, std::int64_t s) {
    if (!mask.defined()) return mask;
    const bool matrix = mask.rank() >= 2;
    const Tensor m =
        matrix ? mask.detach() : views::reshape(mask, {1, mask.rank() == 0 ? 1 : mask.size(0)});
    if (m.size(-1) == s && m.strides().back() == 1) return m;
    Shape shape = m.shape();
    shape.back() = s;
    return views::expand(m, shape).clone();
}

// A block's scores as the kernels want them. `columns` of them are looked at and written.
template <class T>
kernels::AttentionRows<T> score_rows(const Attend& a, const Block& block, T* scores,
                                     std::int64_t columns) {
    kernels::AttentionRows<T> rows;
    rows.scores = scores;
    rows.rows = block.rows;
    rows.columns = columns;
    rows.stride = a.s;
    rows.visible = a.visible(block.first);
    rows.visible_step = a.causal ? 1 : 0;
    rows.scale = static_cast<T>(a.scale);
    return rows;
}

template <class T>
void set_mask(kernels::AttentionRows<T>& rows, const Tensor& mask, const Attend& a,
              const Block& block) {
    if (!mask.defined()) return;
    rows.mask_stride = mask.size(-2) == 1 ? 0 : mask.strides()[mask.rank() - 2];
    const std::int64_t offset = offset_at(block.head, a.leading, leading_strides(mask, a.leading)) +
                                block.first * rows.mask_stride;
    if (mask.dtype() == DType::boolean) {
        rows.allowed = mask.data<bool>() + offset;
    } else {
        rows.added = mask.data<T>() + offset;
    }
}

// ---- forward ------------------------------------------------------------------------------------

template <class T>
struct Forward {
    const Attend& a;
    Heads<const T> q, k, v;
    Heads<T> y;
    Tensor mask;
    T* weights;        // null: not kept
    const bool* kept;  // null: no dropout

    void run(const Block& block) const {
        Tensor scratch;
        if (weights == nullptr || kept != nullptr) {
            scratch = Tensor({block.rows, a.s}, dtype_of<T>());
        }
        T* const p = weights != nullptr ? weights + block.place : scratch.mutable_data<T>();
        product<T>(q[block.head].from_row(block.first), k[block.head].transposed(), {p, a.s, 1},
                   block.rows, block.seen, a.d);
        auto rows = score_rows(a, block, p, a.s);
        set_mask(rows, mask, a, block);
        kernels::table<T>().attention.softmax(rows);
        T* used = p;
        if (kept != nullptr) {
            used = scratch.mutable_data<T>();
            keep_some(used, p, kept + block.place, static_cast<T>(keep_factor(a.dropout)),
                      block.rows * a.s);
        }
        product<T>({used, a.s, 1}, v[block.head], y[block.head].from_row(block.first), block.rows,
                   a.e, block.seen);
    }
};

template <class T>
void attend_typed(const Attend& a, const Tensor& q, const Tensor& k, const Tensor& v,
                  const Tensor& mask, Attended& out) {
    const Forward<T> forward{a,
                             reading<T>(q, a.leading),
                             reading<T>(k, a.leading),
                             reading<T>(v, a.leading),
                             *writing<T>(out.y, a.leading),
                             mask,
                             out.weights.defined() ? out.weights.mutable_data<T>() : nullptr,
                             out.kept.defined() ? out.kept.data<bool>() : nullptr};
    const std::int64_t blocks = Block::count(a);
    parallel_for_chunks(a.heads() * blocks, [&](std::int64_t chunk) {
        forward.run(Block(a, chunk / blocks, chunk % blocks));
    });
}

// ---- backward -----------------------------------------------------------------------------------

template <class T>
struct Backward {
    const Attend& a;
    Heads<const T> q, k, v, g;
    const T* weights;
    const bool* kept;
    std::optional<Heads<T>> dq, dk, dv;

    // The last queries see all keys: their block writes dk and dv whole, those before it add.
    void run(std::int64_t head) const {
        Tensor scores({std::min(kQueries, a.t), a.s}, dtype_of<T>());
        Tensor dropped;
        if (kept != nullptr) dropped = Tensor(scores.shape(), dtype_of<T>());
        for (std::int64_t number = Block::count(a); number-- > 0;) {
            const Block block(a, head, number);
            const T* used = weights + block.place;
            if (kept != nullptr) {
                keep_some(dropped.mutable_data<T>(), used, kept + block.place, factor(),
                          block.rows * a.s);
                used = dropped.data<T>();
            }
            if (dv) to_values(block, used);
            if (dq || dk) to_queries_and_keys(block, scores.mutable_data<T>());
        }
    }

private:
    T factor() const { return static_cast<T>(keep_factor(a.dropout)); }
    bool adds(const Block& block) const { return block.first + block.rows < a.t; }

    // dv = P^T g
    void to_values(const Block& block, const T* p) const {
        product<T>(Matrix<const T>{p, a.s, 1}.transposed(), g[block.head].from_row(block.first),
                   (*dv)[block.head], block.seen, a.e, block.rows, adds(block));
    }

    // dP = g v^T, from it dS; dq = dS k, dk = dS^T q
    void to_queries_and_keys(const Block& block, T* ds) const {
        product<T>(g[block.head].from_row(block.first), v[block.head].transposed(), {ds, a.s, 1},
                   block.rows, block.seen, a.e);
        for (std::int64_t i = 0; kept != nullptr && i < block.rows; ++i) {
            T* const row = ds + i * a.s;
            keep_some(row, row, kept + block.place + i * a.s, factor(), block.seen);
        }
        kernels::table<T>().attention.softmax_backward(score_rows(a, block, ds, block.seen),
                                                       weights + block.place, a.s);
        const Matrix<const T> slopes{ds, a.s, 1};
        if (dq) {
            product<T>(slopes, k[block.head], (*dq)[block.head].from_row(block.first), block.rows,
                       a.d, block.seen);
        }
        if (dk) {
            product<T>(slopes.transposed(), q[block.head].from_row(block.first), (*dk)[block.head],
                       block.seen, a.d, block.rows, adds(block));
        }
    }
};

template <class T>
void attend_backward_typed(const Attend& a, const Tensor& q, const Tensor& k, const Tensor& v,
                           const Attended& forward, const Tensor& g, AttendGradients& out) {
    const Backward<T> backward{a,
                               reading<T>(q, a.leading),
                               reading<T>(k, a.leading),
                               reading<T>(v, a.leading),
                               reading<T>(g, a.leading),
                               forward.weights.data<T>(),
                               forward.kept.defined() ? forward.kept.data<bool>() : nullptr,
                               writing<T>(out.q, a.leading),
                               writing<T>(out.k, a.leading),
                               writing<T>(out.v, a.leading)};
    parallel_for_chunks(a.heads(), [&](std::int64_t head) { backward.run(head); });
}

}  // namespace

void attend(const Attend& a, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask,
            Attended& out) {
    visit_floating("attention", q.dtype(), [&](auto zero) {
        attend_typed<decltype(zero)>(a, readable(q), readable(k), readable(v),
                                     readable_mask(mask, a.s), out);
    });
}

void attend_backward(const Attend& a, const Tensor& q, const Tensor& k, const Tensor& v,
                     const Attended& forward, const Tensor& g, AttendGradients& out) {
    visit_floating("attention", q.dtype(), [&](auto zero) {
        attend_backward_typed<decltype(zero)>(a, readable(q), readable(k), readable(v), forward,
                                              readable(g), out);
    });
}

}  // namespace tapestry
