// Iteration over several tensors of one (broadcast) shape.
//
// Axes that are adjacent in memory in every operand are merged first, so two contiguous tensors of
// any rank become one long row, and [B, T, C] + [C] becomes rows of C in which the second operand
// has a step of 0 between rows.
#pragma once

#include <tapestry/core/parallel.h>
#include <tapestry/core/tensor.h>

#include <algorithm>
#include <array>

namespace tapestry {

/// Elements handed to one thread at a time: small enough to share, large enough to be worth it.
inline constexpr std::int64_t kGrain = 8192;

/// Strides that repeat `x` along the axes where `shape` is larger. x must broadcast to shape.
inline Strides broadcast_strides(const Tensor& x, const Shape& shape) {
    Strides strides = Shape::filled(shape.rank(), 0);
    const int shift = shape.rank() - x.rank();
    for (int i = 0; i < x.rank(); ++i) {
        strides[i + shift] = x.size(i) == 1 ? 0 : x.strides()[i];
    }
    return strides;
}

/// A walk over N operands of one shape, each with its own strides.
template <std::size_t N>
class Loop {
public:
    using Offsets = std::array<std::int64_t, N>;  ///< one per operand, in elements

    /// `strides`: per operand, those of broadcast_strides().
    Loop(const Shape& shape, const std::array<Strides, N>& strides) : numel_(numel(shape)) {
        for (int axis = 0; axis < shape.rank(); ++axis) {
            if (shape[axis] == 1) continue;
            if (sizes_.rank() > 0 && mergeable(shape[axis], strides, axis)) {
                sizes_.back() *= shape[axis];
                for (std::size_t i = 0; i < N; ++i) strides_[i].back() = strides[i][axis];
            } else {
                sizes_.push_back(shape[axis]);
                for (std::size_t i = 0; i < N; ++i) strides_[i].push_back(strides[i][axis]);
            }
        }
        if (sizes_.rank() == 0) {  // a scalar is a row of one
            sizes_.push_back(1);
            for (auto& s : strides_) s.push_back(1);
        }
    }

    /// Stride of operand `i` along the innermost axis.
    std::int64_t inner_stride(std::size_t i) const { return strides_[i].back(); }

    /// Calls f(offsets, n) for pieces of rows that cover every element once: operand i's elements
    /// are offsets[i] + j * inner_stride(i), 0 <= j < n. Pieces run on several threads.
    template <class F>
    void for_each_row(F&& f) const {
        parallel_for(numel_, kGrain,
                     [&](std::int64_t begin, std::int64_t end) { walk(begin, end, f); });
    }

private:
    bool mergeable(std::int64_t size, const std::array<Strides, N>& strides, int axis) const {
        for (std::size_t i = 0; i < N; ++i) {
            if (strides_[i].back() != strides[i][axis] * size) return false;
        }
        return true;
    }

    template <class F>
    void walk(std::int64_t begin, std::int64_t end, F& f) const {
        const int last = sizes_.rank() - 1;
        const std::int64_t row = sizes_[last];
        Shape index = Shape::filled(last, 0);
        std::int64_t within = begin % row;
        for (std::int64_t rest = begin / row, axis = last - 1; axis >= 0; --axis) {
            const int a = static_cast<int>(axis);
            index[a] = rest % sizes_[a];
            rest /= sizes_[a];
        }
        while (begin < end) {
            const std::int64_t n = std::min(row - within, end - begin);
            Offsets offsets;
            for (std::size_t i = 0; i < N; ++i) {
                offsets[i] = within * strides_[i][last];
                for (int a = 0; a < last; ++a) offsets[i] += index[a] * strides_[i][a];
            }
            f(offsets, n);
            begin += n;
            within = 0;
            for (int a = last - 1; a >= 0; --a) {  // next row, like an odometer
                if (++index[a] < sizes_[a]) break;
                index[a] = 0;
            }
        }
    }

    std::int64_t numel_;
    Shape sizes_;
    std::array<Strides, N> strides_;
};

}  // namespace tapestry
