// Threads share the heads (in backward, groups with the same keys) and in forward also blocks of
// queries; the work per head is in ops/kernels/attention.cpp.
#include <tapestry/ops/attention_heads.h>

#include <tapestry/core/copy.h>
#include <tapestry/core/parallel.h>
#include <tapestry/core/views.h>
#include <tapestry/ops/batch.h>
#include <tapestry/ops/dropout_mask.h>
#include <tapestry/ops/kernels/table.h>
#include <tapestry/ops/staging.h>

#include <algorithm>
#include <utility>

namespace tapestry {

// ---- half-precision heads -----------------------------------------------------------------------
// Rows are widened to f32 in a buffer of the thread, and results are rounded when written back
// (staging.h). There may be thousands of small heads: each takes one buffer, and each of its
// matrices one call.

namespace {

/// A matrix of a head, [count, width], held in f32 while its kernel runs; empty if there is no
/// data.
template <class T>
class WideRows {
public:
    WideRows(const kernels::Rows<T>& stored, std::int64_t count, std::int64_t width)
        : stored_(stored), width_(width) {
        // A mask may be one row for all queries.
        if (stored.data != nullptr)
            count_ = stored.row == 0 ? std::min<std::int64_t>(count, 1) : count;
    }

    std::int64_t size() const { return count_ * width_; }
    /// Takes the f32 rows' memory from `room`, and advances it.
    void take(float*& room) {
        if (stored_.data == nullptr) return;
        rows_ = {room, stored_.row == 0 ? 0 : width_};
        room += size();
    }
    void read() const { widen_rows(rows_.data, stored_.data, stored_.row, count_, width_); }
    void write() const { narrow_rows(stored_.data, stored_.row, rows_.data, count_, width_); }
    const kernels::Rows<float>& rows() const { return rows_; }
    kernels::Rows<const float> constant() const { return {rows_.data, rows_.row}; }

private:
    kernels::Rows<T> stored_;
    std::int64_t count_ = 0, width_;
    kernels::Rows<float> rows_;
};

/// The f32 memory of several WideRows.
class RoomOfRows {
public:
    template <class... T>
    explicit RoomOfRows(WideRows<T>&... rows) : room_((rows.size() + ...)) {
        float* next = room_.data();
        (rows.take(next), ...);
    }

private:
    StagingRoom room_;
};

/// Queries [first, first + count) of a head, as a separate head.
template <class T>
class WideHead {
public:
    WideHead(const kernels::AttentionHead<T, float>& h, std::int64_t first, std::int64_t count)
        : q_(h.q.from(first), count, h.d),
          k_(h.k, h.s, h.d),
          v_(h.v, h.s, h.e),
          added_(h.added.from(first), count, h.s),
          room_(q_, k_, v_, added_) {
        q_.read();
        k_.read();
        v_.read();
        added_.read();
        head_.t = count;
        head_.s = h.s;
        head_.d = h.d;
        head_.e = h.e;
        head_.q = q_.constant();
        head_.k = k_.constant();
        head_.v = v_.constant();
        head_.scale = h.scale;
        head_.visible = h.visible + first * h.visible_step;
        head_.visible_step = h.visible_step;
        head_.allowed = h.allowed.from(first);
        head_.added = added_.constant();
        head_.kept = h.kept.from(first);
        head_.keep_factor = h.keep_factor;
    }
    const kernels::AttentionHead<float>& head() const { return head_; }

private:
    WideRows<const T> q_, k_, v_, added_;
    RoomOfRows room_;
    kernels::AttentionHead<float> head_;
};

/// kernels::Attention::forward for half precision.
template <class T>
void attend_wide(const kernels::AttentionHead<T, float>& h, std::int64_t first, std::int64_t last,
                 const kernels::Rows<T>& y, const kernels::Rows<T>& weights) {
    const std::int64_t count = last - first;
    const WideHead<T> wide(h, first, count);
    WideRows<T> to_y(y.from(first), count, h.e), to_weights(weights.from(first), count, h.s);
    const RoomOfRows room(to_y, to_weights);
    kernels::table<float>().attention.forward(wide.head(), 0, count, to_y.rows(),
                                              to_weights.rows());
    to_y.write();
    to_weights.write();
}

/// kernels::Attention::backward for half precision; dk and dv stay f32, because other heads may add
/// to them.
template <class T>
void attend_backward_wide(const kernels::AttentionHead<T, float>& h,
                          const kernels::Rows<const T>& g, const kernels::Rows<T>& dq,
                          const kernels::Rows<float>& dk, const kernels::Rows<float>& dv,
                          bool add) {
    const WideHead<T> wide(h, 0, h.t);
    WideRows<const T> wide_g(g, h.t, h.e);
    WideRows<T> to_q(dq, h.t, h.d);
    const RoomOfRows room(wide_g, to_q);
    wide_g.read();
    kernels::table<float>().attention.backward(wide.head(), wide_g.constant(),
                                               {to_q.rows(), dk, dv, add});
    to_q.write();
}

}  // namespace

// ---- heads of any dtype -------------------------------------------------------------------------

Shape Attend::shape(std::int64_t rows, std::int64_t columns) const {
    return leading + Shape{rows, columns};
}

std::int64_t Attend::seen(std::int64_t i) const {
    return std::clamp<std::int64_t>(visible(i), 0, s);
}

Tensor Attend::heads_inside(const Shape& heads, std::int64_t rows, std::int64_t columns,
                            DType dtype) {
    Shape memory = heads + Shape{rows, columns};
    if (heads.rank() < 2) return Tensor(memory, dtype);
    const int head = heads.rank() - 1;
    std::swap(memory[head], memory[head + 1]);
    return views::transpose(Tensor(memory, dtype), head, head + 1);
}

namespace {

// Queries per task: enough to pay for packing keys and values.
constexpr std::int64_t kQueries = 256;

// The matrices of a tensor [leading..., rows, columns] with adjacent columns. P is T or const T.
template <class P>
struct Heads {
    P* data = nullptr;
    Shape leading{};
    Strides strides{};
    std::int64_t row = 0;

    kernels::Rows<P> operator[](std::int64_t i) const {
        if (data == nullptr) return {};
        return {data + offset_at(i, leading, strides), row};
    }
};

template <class T>
Heads<const T> reading(const Tensor& x, const Shape& leading) {
    if (!x.defined()) return {};
    const std::int64_t row = x.size(-2) == 1 ? 0 : x.strides()[x.rank() - 2];
    return {x.data<T>(), leading, leading_strides(x, leading), row};
}

template <class T>
Heads<T> writing(Tensor& x, const Shape& leading) {
    if (!x.defined()) return {};
    return {x.mutable_data<T>(), leading, leading_strides(x, leading), x.strides()[x.rank() - 2]};
}

// x with adjacent columns, copied if necessary.
Tensor readable(const Tensor& x) { return x.strides().back() == 1 ? x.detach() : dense(x); }

// The mask with S adjacent columns; other axes may stay broadcast.
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

// The inputs of a problem, and the kernels' arguments for each head.
template <class T>
class Problem {
public:
    Problem(const Attend& a, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask,
            const Tensor& kept)
        : a_(a),
          q_(readable(q)),
          k_(readable(k)),
          v_(readable(v)),
          mask_(readable_mask(mask, a.s)),
          kept_(kept) {
        heads_q_ = reading<T>(q_, a.leading);
        heads_k_ = reading<T>(k_, a.shared);
        heads_v_ = reading<T>(v_, a.shared);
        heads_kept_ = reading<bool>(kept_, a.leading);
        if (!mask_.defined()) return;
        if (mask_.dtype() == DType::boolean) {
            allowed_ = reading<bool>(mask_, a.leading);
        } else {
            added_ = reading<T>(mask_, a.leading);
        }
    }

    kernels::AttentionHead<T, Compute<T>> operator[](std::int64_t i) const {
        kernels::AttentionHead<T, Compute<T>> h;
        h.t = a_.t;
        h.s = a_.s;
        h.d = a_.d;
        h.e = a_.e;
        h.q = heads_q_[i];
        h.k = heads_k_[i / a_.group()];
        h.v = heads_v_[i / a_.group()];
        h.scale = static_cast<Compute<T>>(a_.scale);
        h.visible = a_.visible(0);
        h.visible_step = a_.causal ? 1 : 0;
        h.allowed = allowed_[i];
        h.added = added_[i];
        h.kept = heads_kept_[i];
        h.keep_factor = static_cast<Compute<T>>(keep_factor(a_.dropout));
        return h;
    }

private:
    const Attend& a_;
    Tensor q_, k_, v_, mask_, kept_;
    Heads<const T> heads_q_, heads_k_, heads_v_, added_;
    Heads<const bool> allowed_, heads_kept_;
};

}  // namespace

void attend(const Attend& a, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask,
            Attended& out) {
    visit_stored("attention", q.dtype(), [&](auto zero) {
        using T = decltype(zero);
        const Problem<T> problem(a, q, k, v, mask, out.kept);
        const Heads<T> y = writing<T>(out.y, a.leading);
        const Heads<T> weights = writing<T>(out.weights, a.leading);
        const std::int64_t pieces = (a.t + kQueries - 1) / kQueries;
        parallel_for_chunks(a.heads() * pieces, [&](std::int64_t chunk) {
            const std::int64_t head = chunk / pieces, first = chunk % pieces * kQueries;
            const std::int64_t last = std::min(first + kQueries, a.t);
            if constexpr (kIsNarrow<T>) {
                attend_wide<T>(problem[head], first, last, y[head], weights[head]);
            } else {
                kernels::table<T>().attention.forward(problem[head], first, last, y[head],
                                                      weights[head]);
            }
        });
    });
}

void attend_backward(const Attend& a, const Tensor& q, const Tensor& k, const Tensor& v,
                     const Tensor& mask, const Tensor& kept, const Tensor& g,
                     AttendGradients& out) {
    visit_stored("attention", q.dtype(), [&](auto zero) {
        using T = decltype(zero);
        const Problem<T> problem(a, q, k, v, mask, kept);
        const Tensor gradient = readable(g);
        const Heads<const T> heads_g = reading<T>(gradient, a.leading);
        const Heads<T> dq = writing<T>(out.q, a.leading);
        const Heads<T> dk = writing<T>(out.k, a.shared);
        const Heads<T> dv = writing<T>(out.v, a.shared);
        // Heads that share keys are one chunk, which fixes the order of additions to dk and dv.
        const std::int64_t group = a.group();
        parallel_for_chunks(numel(a.shared), [&](std::int64_t chunk) {
            const std::int64_t begin = chunk * group;
            if constexpr (kIsNarrow<T>) {
                WideRows<T> to_k(dk[chunk], a.s, a.d), to_v(dv[chunk], a.s, a.e);
                const RoomOfRows room(to_k, to_v);
                for (std::int64_t i = begin; i < begin + group; ++i) {
                    attend_backward_wide<T>(problem[i], heads_g[i], dq[i], to_k.rows(), to_v.rows(),
                                            i > begin);
                }
                to_k.write();
                to_v.write();
            } else {
                for (std::int64_t i = begin; i < begin + group; ++i) {
                    kernels::table<T>().attention.backward(
                        problem[i], heads_g[i], {dq[i], dk[chunk], dv[chunk], i > begin});
                }
            }
        });
    });
}

}  // namespace tapestry
