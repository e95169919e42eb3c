// Heads of attention of numbers of 16 bits as their kernels want them, in f32: rows are widened
// into memory of the thread's, side by side, and results are rounded on their way back. Heads may
// be small, and thousands: each takes memory once, and a matrix of it is one call. Internal to ops.
// Read first: staging.h.
#pragma once

#include <tapestry/ops/kernels/table.h>
#include <tapestry/ops/staging.h>

#include <algorithm>

namespace tapestry {

/// A matrix of a head, which is f32 while its kernel runs: `count` rows of `width` numbers; nothing
/// of nothing.
template <class T>
class WideRows {
public:
    WideRows(const kernels::Rows<T>& stored, std::int64_t count, std::int64_t width)
        : stored_(stored), width_(width) {
        // A mask may be one row for all.
        if (stored.data != nullptr)
            count_ = stored.row == 0 ? std::min<std::int64_t>(count, 1) : count;
    }

    std::int64_t size() const { return count_ * width_; }
    /// From here on they are at `room`, which becomes what is behind them.
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

/// Memory for some of them.
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

/// Queries first .. first + count of a head, as a head of their own.
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

/// What kernels::Attention::forward does.
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

/// What kernels::Attention::backward does, but that dk and dv stay f32: other heads may add to
/// them.
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

}  // namespace tapestry
