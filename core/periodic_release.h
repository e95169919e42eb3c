// Returns memory to the system while many tensors are replaced one by one, as when a model is
// converted: blocks are kept for reuse (core/storage.h), so old and new ones would add up.
#pragma once

#include <tapestry/core/storage.h>

#include <cstddef>

namespace tapestry {

/// Calls release_cached_memory() after each `most` bytes that are no longer used.
class PeriodicRelease {
public:
    /// `most`: bytes that may be unused.
    explicit PeriodicRelease(std::size_t most = std::size_t{32} << 20) : most_(most) {}

    /// Says that `bytes` more are no longer used.
    void add(std::size_t bytes) {
        unused_ += bytes;
        if (unused_ >= most_) finish();
    }

    /// Returns the rest.
    void finish() {
        release_cached_memory();
        unused_ = 0;
    }

private:
    std::size_t most_;
    std::size_t unused_ = 0;
};

}  // namespace tapestry
