// The tree over a step's leaves, as those need it who have parts of its sum: which subtrees are
// whole within a range of leaves, and the sum of all of them in the tree's order.
// Internal to nn/data_parallel. Read next: gradient_sum.h, whose tree it is.
#pragma once

#include <tapestry/nn/data_parallel/gradient_sum.h>

#include <bit>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace tapestry {

struct Leaves {
    std::int64_t first;
    std::int64_t count;
};

/// The largest subtrees within a range of leaves, from left to right: what a GradientSum has of
/// them.
inline std::vector<Leaves> subtrees_in(Range range) {
    std::vector<Leaves> all;
    for (std::int64_t first = range.begin; first < range.end;) {
        std::int64_t count = 1;
        while (first % (2 * count) == 0 && first + 2 * count <= range.end) count *= 2;
        all.push_back({first, count});
        first += count;
    }
    return all;
}

/// Of subtrees, by their first leaves: how many leaves, and their sum.
template <class T>
using KnownSums = std::map<std::int64_t, std::pair<std::int64_t, T>>;

/// The sum over `count` leaves from `first` on, by add(left, right), which changes left. `known` is
/// used up.
template <class T, class Add>
T tree_sum(KnownSums<T>& known, std::int64_t first, std::int64_t count, const Add& add) {
    const auto found = known.find(first);
    if (found != known.end() && found->second.first == count)
        return std::move(found->second.second);
    const auto left =
        static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(count - 1)));
    T sum = tree_sum(known, first, left, add);
    add(sum, tree_sum(known, first + left, count - left, add));
    return sum;
}

}  // namespace tapestry
