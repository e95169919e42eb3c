// Reuse of small memory blocks: entries of a tape, saved tensors, lists of tensors.
//
//     RecycledVector<int> places;                     // a std::vector
//     const auto op = make_recycled<AddOp>(a, b);     // a std::shared_ptr
//
// A training step makes hundreds of small objects, and the next step makes them again. A freed
// block stays with the thread that freed it, in a list by size, and serves that thread's next
// request of that size: after a few steps nothing is requested from the system. The thread that
// frees a block need not be the one that allocated it; the memory that a thread keeps is limited
// and is freed when the thread ends. The elements of tensors are allocated elsewhere: storage.h.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tapestry {

namespace detail {

// Under AddressSanitizer every block comes from the system and returns to it, which lets it detect
// use after free and access past the end.
#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool kReusesBlocks = false;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
inline constexpr bool kReusesBlocks = false;
#else
inline constexpr bool kReusesBlocks = true;
#endif
#else
inline constexpr bool kReusesBlocks = true;
#endif

/// Aligned as by operator new. Throws std::bad_alloc.
void* take_recycled(std::size_t bytes);
/// `bytes`: the size that was requested.
void give_recycled(void* block, std::size_t bytes) noexcept;

}  // namespace detail

/// An allocator for the containers of the standard library.
template <class T>
struct Recycling {
    static_assert(alignof(T) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);
    using value_type = T;  ///< the element type, as the standard requires

    Recycling() = default;
    /// An allocator has no state, so any converts to any.
    template <class U>
    Recycling(const Recycling<U>&) noexcept {}

    /// Uninitialised memory for n elements, reused if possible. Throws std::bad_alloc.
    T* allocate(std::size_t n) {  // containers limit n to the address space
        return static_cast<T*>(detail::take_recycled(n * sizeof(T)));
    }
    /// Keeps the block of n elements for this thread's next request.
    void deallocate(T* block, std::size_t n) noexcept {
        detail::give_recycled(block, n * sizeof(T));
    }
    /// Always true: each frees what another allocated.
    template <class U>
    bool operator==(const Recycling<U>&) const {
        return true;
    }
};

/// A std::vector whose memory is reused.
template <class T>
using RecycledVector = std::vector<T, Recycling<T>>;
/// A std::string whose memory is reused.
using RecycledString = std::basic_string<char, std::char_traits<char>, Recycling<char>>;

/// A std::make_shared whose memory, object and counters in one block, is reused.
template <class T, class... Args>
std::shared_ptr<T> make_recycled(Args&&... args) {
    return std::allocate_shared<T>(Recycling<T>(), std::forward<Args>(args)...);
}

}  // namespace tapestry
