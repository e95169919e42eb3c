#include <tapestry/autograd/leaf_lock.h>

#include <tapestry/core/at_fork.h>

#include <array>
#include <functional>

namespace tapestry {
namespace {

// Some locks for all leaves, because a leaf is plain data. Never destroyed.
using Locks = std::array<std::mutex, 16>;

Locks& locks() {
    static Locks& all = []() -> Locks& {
        auto* const made = new Locks;
        for (std::mutex& one : *made) detail::hold_across_fork(one);
        return *made;
    }();
    return all;
}

}  // namespace

std::unique_lock<std::mutex> lock_of(const Leaf& leaf) {
    const std::size_t hash = std::hash<const Leaf*>()(&leaf) / sizeof(Leaf);
    return std::unique_lock(locks()[hash % locks().size()]);
}

}  // namespace tapestry
