// Which numbers dropout keeps: drawn by Philox, as core's bernoulli() does, to the last bit.
#pragma once

#include <cstdint>

namespace tapestry::kernels {

struct Kept {
    /// kept[i] = (word i of the stream under `key`, from the counter `first` on, < limit),
    /// 0 <= i < n. A counter has four words.
    void (*draw)(bool* kept, std::uint64_t key, std::uint64_t first, std::uint32_t limit,
                 std::int64_t n);
};

}  // namespace tapestry::kernels
