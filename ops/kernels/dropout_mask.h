// Dropout's mask, drawn by Philox with the bits of core's bernoulli().
#pragma once

#include <cstdint>

namespace tapestry::kernels {

struct DropoutMask {
    /// kept[i] = (word i < limit), 0 <= i < n, with words of the stream under `key` from counter
    /// `first` on. A counter has four words.
    void (*draw)(bool* kept, std::uint64_t key, std::uint64_t first, std::uint32_t limit,
                 std::int64_t n);
};

}  // namespace tapestry::kernels
