// Sorting and partial selection of one row of numbers, as indices. Internal to ops.
//
// Elements are mapped to unsigned keys of the same order, so one integer comparison, and one radix
// sort, serves all dtypes. NaN is above every number, and -0 equals 0. Of equal elements the one
// with the lower index is first, in either direction: the order is total, so all algorithms here
// agree.
// Read next: order.cpp, which applies these along an axis.
#pragma once

#include <tapestry/core/copy.h>
#include <tapestry/core/loop.h>
#include <tapestry/core/views.h>

#include <algorithm>
#include <array>
#include <bit>
#include <utility>
#include <vector>

namespace tapestry {

inline std::uint32_t order_key(bool x) { return x ? 1 : 0; }

inline std::uint64_t order_key(std::int64_t x) {
    return static_cast<std::uint64_t>(x) ^ (std::uint64_t{1} << 63);
}

/// The sign-magnitude bits of a floating-point number as an unsigned key of the same order.
template <class Key, class T>
Key floating_key(T x) {
    constexpr Key kSign = Key{1} << (8 * sizeof(Key) - 1);
    if (x != x) return ~Key{0};
    const Key bits = std::bit_cast<Key>(x + T(0));  // -0 + 0 = 0
    return (bits & kSign) != 0 ? ~bits : bits | kSign;
}
inline std::uint32_t order_key(float x) { return floating_key<std::uint32_t>(x); }
inline std::uint64_t order_key(double x) { return floating_key<std::uint64_t>(x); }

/// An element's key and index. Rows have fewer than 2^32 elements (axis_lines).
template <class T>
struct Ranked {
    using Key = decltype(order_key(T{}));
    Key key;
    std::uint32_t index;

    /// In descending order keys are complemented, so the largest comes first.
    Ranked(T x, std::int64_t i, bool descending)
        : key(descending ? static_cast<Key>(~order_key(x)) : order_key(x)),
          index(static_cast<std::uint32_t>(i)) {}
    Ranked() = default;

    friend bool operator<(const Ranked& a, const Ranked& b) {
        return a.key != b.key ? a.key < b.key : a.index < b.index;
    }
};

template <class T>
void rank_row(std::vector<Ranked<T>>& ranked, const T* x, std::int64_t n, bool descending) {
    ranked.clear();
    for (std::int64_t i = 0; i < n; ++i) ranked.emplace_back(x[i], i, descending);
}

/// Sorts elements given in index order, byte by byte of the keys from the lowest; each pass is
/// stable. Source: Knuth, "The Art of Computer Programming" 3, 5.2.5.
template <class T>
void radix_sort(std::vector<Ranked<T>>& ranked) {
    using Key = typename Ranked<T>::Key;
    std::array<std::array<std::size_t, 256>, sizeof(Key)> places{};  // first counts, then ends
    const auto digit = [](Key key, std::size_t byte) { return (key >> (8 * byte)) & 0xFF; };
    for (const Ranked<T>& element : ranked) {
        for (std::size_t byte = 0; byte < sizeof(Key); ++byte) {
            ++places[byte][digit(element.key, byte)];
        }
    }
    std::vector<Ranked<T>> sorted(ranked.size());
    for (std::size_t byte = 0; byte < sizeof(Key); ++byte) {
        auto& place = places[byte];
        if (place[digit(ranked[0].key, byte)] == ranked.size()) continue;  // one digit for all
        std::size_t before = 0;
        for (std::size_t& count : place) before += std::exchange(count, before);
        for (const Ranked<T>& element : ranked) sorted[place[digit(element.key, byte)]++] = element;
        ranked.swap(sorted);
    }
}

/// Sorts the whole row.
template <class T>
void order_row(std::vector<Ranked<T>>& ranked, const T* x, std::int64_t n, bool descending) {
    rank_row(ranked, x, n, descending);
    if (n < 512) {  // where counting costs more than it saves
        std::sort(ranked.begin(), ranked.end());
    } else {
        radix_sort(ranked);
    }
}

/// True if an element of x comes before `bar`; also true if a NaN is involved, so check the keys.
template <class T>
bool some_before(T bar, const T* x, std::int64_t n, bool descending) {
    int found = 0;  // no early exit, so the loops vectorise
    if (descending) {
        for (std::int64_t i = 0; i < n; ++i) found |= static_cast<int>(!(x[i] <= bar));
    } else {
        for (std::int64_t i = 0; i < n; ++i) found |= static_cast<int>(!(x[i] >= bar));
    }
    return found != 0;
}

/// The first k >= 1 of the row's n elements, sorted. If k is small the others are not sorted: a
/// candidate must come before the last of the best k so far. Takes O(n) time for any order of x,
/// because k candidates are collected before the best k are selected again.
template <class T>
void first_of_row(std::vector<Ranked<T>>& best, const T* x, std::int64_t n, std::int64_t k,
                  bool descending) {
    if (k > n / 16) {
        order_row(best, x, n, descending);
        best.resize(static_cast<std::size_t>(k));
        return;
    }
    constexpr std::int64_t kBlock = 64;
    const auto last = static_cast<std::size_t>(k - 1);
    const auto keep_best = [&] {
        std::nth_element(best.begin(), best.begin() + (k - 1), best.end());
        best.resize(last + 1);
    };
    const std::int64_t start = std::min(n, 2 * k + kBlock);
    rank_row(best, x, start, descending);
    keep_best();
    Ranked<T> bar = best[last];
    for (std::int64_t i = start; i < n; i += kBlock) {
        const std::int64_t end = std::min(n, i + kBlock);
        if (!some_before(x[bar.index], x + i, end - i, descending)) continue;
        for (std::int64_t j = i; j < end; ++j) {
            const Ranked<T> candidate(x[j], j, descending);
            if (candidate < bar) best.push_back(candidate);
        }
        if (static_cast<std::int64_t>(best.size()) < 2 * k) continue;
        keep_best();
        bar = best[last];
    }
    keep_best();
    std::sort(best.begin(), best.end());
}

/// Lines of a tensor along one axis.
struct AxisLines {
    int axis;
    std::int64_t count;  ///< elements of a line
    Tensor rows;         ///< x with the axis last, row-major
};

/// Throws ShapeError for an axis outside the rank or of 2^32 elements or more.
inline AxisLines axis_lines(std::string_view op, const Tensor& x, int axis) {
    const int a = normalize_axis(op, axis, x.rank());
    require<ShapeError>(x.size(a) < std::int64_t{1} << 32, "{}: axis {} of {} is too long", op,
                        axis, x.shape());
    return {a, x.size(a), dense(views::transpose(x, a, -1))};
}

/// `chosen` indices of each line: f(x, n, indices, ranked) writes those of the line of n elements
/// at x; `ranked` is scratch space. Lines are shared among threads.
template <class F>
Tensor indices_of_lines(const AxisLines& lines, std::int64_t chosen, F f) {
    Shape shape = lines.rows.shape();
    shape.back() = chosen;
    Tensor indices(shape, DType::i64);  // [..., chosen]
    const std::int64_t n = lines.count;
    const std::int64_t rows = chosen == 0 ? 0 : indices.numel() / chosen;
    std::int64_t* to = indices.mutable_data<std::int64_t>();
    visit_dtype(lines.rows.dtype(), [&](auto zero) {
        using T = decltype(zero);
        const T* from = lines.rows.data<T>();
        parallel_for(rows, kGrain / std::max<std::int64_t>(1, n), [&](auto begin, auto end) {
            std::vector<Ranked<T>> ranked;
            for (std::int64_t r = begin; r < end; ++r) f(from + r * n, n, to + r * chosen, ranked);
        });
    });
    return dense(views::transpose(indices, lines.axis, -1));
}

/// Index of the first NaN of a row; n if there is none.
template <class T>
std::int64_t first_nan(const T* x, std::int64_t n) {
    return std::find_if(x, x + n, [](T value) { return value != value; }) - x;
}

}  // namespace tapestry
