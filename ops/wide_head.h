// A head of attention of numbers of 16 bits as its kernel wants it, in f32: the rows at hand are
// widened into memory of the thread's, side by side, and results are rounded on their way back.
// Internal to ops. Read first: staging.h.
#pragma once

#include <tapestry/core/tensor.h>
#include <tapestry/ops/kernels/attention.h>
#include <tapestry/ops/staging.h>

namespace tapestry {

/// `count` rows of `width` numbers, widened; nothing of nothing.
template <class T>
class ReadRows {
public:
    ReadRows(const kernels::Rows<const T>& from, std::int64_t count, std::int64_t width) {
        if (from.data == nullptr) return;
        // A mask may be one row for all.
        const std::int64_t there = from.row == 0 ? std::min<std::int64_t>(count, 1) : count;
        room_ = Tensor({there, width}, DType::f32);
        float* const to = room_.mutable_data<float>();
        constexpr std::int64_t kRowsAhead = 8;
        for (std::int64_t i = 0; i < there; ++i) {
            widen(to + i * width, from.data + i * from.row, width, kRowsAhead * from.row);
        }
        rows_ = {to, from.row == 0 ? 0 : width};
    }
    const kernels::Rows<const float>& rows() const { return rows_; }

private:
    Tensor room_;  // from the caching allocator
    kernels::Rows<const float> rows_;
};

/// Where a kernel writes `count` rows of `width` numbers that belong to `to`: there, or, of 16
/// bits, into memory that is rounded when this goes.
template <class T>
class WrittenRows {
public:
    WrittenRows(const kernels::Rows<T>& to, std::int64_t /*count*/, std::int64_t /*width*/)
        : rows_(to) {}
    const kernels::Rows<T>& rows() const { return rows_; }

private:
    kernels::Rows<T> rows_;
};

template <class T>
requires kIsHalf<T>
class WrittenRows<T> {
public:
    WrittenRows(const kernels::Rows<T>& to, std::int64_t count, std::int64_t width)
        : to_(to), count_(count), width_(width) {
        if (to.data == nullptr) return;
        room_ = Tensor({count, width}, DType::f32);
        rows_ = {room_.template mutable_data<float>(), width};
    }
    WrittenRows(const WrittenRows&) = delete;
    WrittenRows& operator=(const WrittenRows&) = delete;
    ~WrittenRows() {
        for (std::int64_t i = 0; to_.data != nullptr && i < count_; ++i) {
            narrow(to_.data + i * to_.row, rows_.data + i * width_, width_);
        }
    }
    const kernels::Rows<float>& rows() const { return rows_; }

private:
    kernels::Rows<T> to_;
    std::int64_t count_, width_;
    Tensor room_;
    kernels::Rows<float> rows_;
};

/// Queries first .. first + count of a head, as a head of their own.
template <class T>
class WideHead {
public:
    WideHead(const kernels::AttentionHead<T, float>& h, std::int64_t first, std::int64_t count)
        : q_(h.q.from(first), count, h.d),
          k_(h.k, h.s, h.d),
          v_(h.v, h.s, h.e),
          added_(h.added.from(first), count, h.s) {
        head_.t = count;
        head_.s = h.s;
        head_.d = h.d;
        head_.e = h.e;
        head_.q = q_.rows();
        head_.k = k_.rows();
        head_.v = v_.rows();
        head_.scale = h.scale;
        head_.visible = h.visible + first * h.visible_step;
        head_.visible_step = h.visible_step;
        head_.allowed = h.allowed.from(first);
        head_.added = added_.rows();
        head_.kept = h.kept.from(first);
        head_.keep_factor = h.keep_factor;
    }
    const kernels::AttentionHead<float>& head() const { return head_; }

private:
    ReadRows<T> q_, k_, v_, added_;
    kernels::AttentionHead<float> head_;
};

}  // namespace tapestry
