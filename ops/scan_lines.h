// Running totals along an axis: how the lines are gone through, and the ops' frame. Internal to
// ops.
#pragma once

#include <tapestry/autograd/op.h>
#include <tapestry/core/copy.h>
#include <tapestry/core/loop.h>

#include <array>

namespace tapestry {

/// For every line along `axis` of a row-major tensor of `shape`, from its first element to the last
/// or in `reverse`: total = step(total, at), where `at` is the element's place in memory and total
/// is `start` before the first. Lines are shared among threads; 64 run side by side where they lie
/// side by side, so that memory is read in order.
template <class Total, class Step>
void scan_lines(const Shape& shape, int axis, bool reverse, Total start, Step step) {
    constexpr std::int64_t kColumns = 64;
    if (numel(shape) == 0) return;
    const std::int64_t n = shape.empty() ? 1 : shape[axis];  // a scalar is a line of one
    const std::int64_t inner = shape.empty() ? 1 : numel(shape.sub(axis + 1, shape.rank()));
    const std::int64_t outer = numel(shape) / (n * inner);
    const std::int64_t strips = (inner + kColumns - 1) / kColumns;
    const std::int64_t grain = kGrain / (n * std::min(inner, kColumns));
    parallel_for(outer * strips, grain, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t unit = begin; unit < end; ++unit) {
            const std::int64_t column = unit % strips * kColumns;
            const std::int64_t width = std::min(kColumns, inner - column);
            std::int64_t at = unit / strips * n * inner + (reverse ? (n - 1) * inner : 0) + column;
            std::array<Total, kColumns> totals;
            totals.fill(start);
            for (std::int64_t i = 0; i < n; ++i, at += reverse ? -inner : inner) {
                for (std::int64_t j = 0; j < width; ++j) {
                    Total& total = totals[static_cast<std::size_t>(j)];
                    total = step(total, at + j);
                }
            }
        }
    });
}

/// What running totals of T are held in. Whole numbers wrap round where signed ones would be
/// undefined.
template <class T>
using ScanTotal = std::conditional_t<std::is_same_v<T, std::int64_t>, std::uint64_t, double>;

/// An op along an axis, or from its end.
struct ScanOp : Op {
    ScanOp(const char* name, int along, bool from_end, const TensorRefs& saved = {})
        : Op(name, saved), axis(along), reverse(from_end) {}
    std::string attributes() const override {
        return fmt::format("axis={}{}", axis, reverse ? ", reverse" : "");
    }
    int axis;
    bool reverse;
};

/// y_k = combine(y_{k-1}, x_k) along `axis`, or from its end, y_{-1} being `start`: a constant. For
/// f32, f64 and i64.
template <class Combine>
Tensor running_total(const Tensor& x, int axis, bool reverse, int start, Combine combine) {
    const Tensor from = dense(x);
    Tensor y(x.shape(), x.dtype());
    visit_dtype(x.dtype(), [&](auto zero) {
        using T = decltype(zero);
        if constexpr (!std::is_same_v<T, bool>) {
            const T* in = from.data<T>();
            T* out = y.mutable_data<T>();
            using Total = ScanTotal<T>;
            scan_lines(x.shape(), axis, reverse, static_cast<Total>(start),
                       [=](Total total, std::int64_t at) {
                           total = combine(total, static_cast<Total>(in[at]));
                           out[at] = static_cast<T>(total);
                           return total;
                       });
        }
    });
    return y;
}

}  // namespace tapestry
