// Locks for the gradients of leaves: several threads may train on one parameter, each with its own
// tape. Their gradients add up, in the order in which they arrive. Internal to autograd. Read next:
// Tape::deliver.
#pragma once

#include <tapestry/core/at_fork.h>
#include <tapestry/core/tensor.h>

#include <array>
#include <functional>
#include <mutex>

namespace tapestry {

/// Some locks for all leaves, because a leaf is plain data. Never destroyed.
inline std::array<std::mutex, 16>& leaf_locks() {
    static auto& all = []() -> std::array<std::mutex, 16>& {
        auto* const made = new std::array<std::mutex, 16>;
        for (std::mutex& one : *made) detail::hold_across_fork(one);
        return *made;
    }();
    return all;
}

/// Held while a gradient is added to the leaf's. Throws std::bad_alloc.
inline std::unique_lock<std::mutex> lock_of(const Leaf& leaf) {
    const std::size_t hash = std::hash<const Leaf*>()(&leaf) / sizeof(Leaf);
    return std::unique_lock(leaf_locks()[hash % leaf_locks().size()]);
}

}  // namespace tapestry
