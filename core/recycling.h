// Small blocks of memory, used again: entries of a tape, what they saved, lists of tensors.
//
//     RecycledVector<int> places;                     // a std::vector
//     const auto op = make_recycled<AddOp>(a, b);     // a std::shared_ptr
//
// A step of training makes some hundred small objects, and the next one makes them again. A block
// that is let go stays with the thread that let it go, in a list by size, and this thread's next
// request of that size gets it: after a few steps nothing is asked of the system. Who lets a block
// go need not be who asked for it; what a thread keeps has an upper limit, and goes when it ends.
// The numbers in tensors lie elsewhere: storage.h.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tapestry {

namespace detail {

// Under AddressSanitizer every block comes from and goes back to the system, so that it sees a use
// after free and a step past the end.
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
/// `bytes`: what was asked for.
void give_recycled(void* block, std::size_t bytes) noexcept;

}  // namespace detail

/// An allocator, for containers of the standard library.
template <class T>
struct Recycling {
    static_assert(alignof(T) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);
    using value_type = T;

    Recycling() = default;
    template <class U>
    Recycling(const Recycling<U>&) noexcept {}

    T* allocate(std::size_t n) {  // containers ask for no more than there are addresses
        return static_cast<T*>(detail::take_recycled(n * sizeof(T)));
    }
    void deallocate(T* block, std::size_t n) noexcept {
        detail::give_recycled(block, n * sizeof(T));
    }
    template <class U>
    bool operator==(const Recycling<U>&) const {
        return true;
    }
};

template <class T>
using RecycledVector = std::vector<T, Recycling<T>>;
using RecycledString = std::basic_string<char, std::char_traits<char>, Recycling<char>>;

template <class T, class... Args>
std::shared_ptr<T> make_recycled(Args&&... args) {
    return std::allocate_shared<T>(Recycling<T>(), std::forward<Args>(args)...);
}

}  // namespace tapestry
