// What a thread has for itself, and what becomes of that when it ends. A thread_local with a
// destructor does as much, but where there is no memory to note the destructor in, glibc ends the
// process. Here that is std::bad_alloc.
#pragma once

#include <memory>
#include <utility>

namespace tapestry {

/// f(context) when this thread ends, the latest first; for the one that ends the process, then.
/// Throws std::bad_alloc.
void at_thread_exit(void (*f)(void*), void* context);

/// What a thread_local pointer leads to: made at its first use, and gone when the thread ends.
/// Throws std::bad_alloc.
template <class T>
T& of_this_thread(T*& pointer) {
    if (pointer == nullptr) {
        auto made = std::make_unique<T>();
        at_thread_exit([](void* place) { delete std::exchange(*static_cast<T**>(place), nullptr); },
                       &pointer);
        pointer = made.release();
    }
    return *pointer;
}

}  // namespace tapestry
