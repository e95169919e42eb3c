// Per-thread objects and their destruction at the end of the thread. A thread_local with a
// destructor would do the same, but glibc terminates the process if there is no memory to register
// the destructor. Here that throws std::bad_alloc.
#pragma once

#include <memory>
#include <utility>

namespace tapestry {

/// Calls f(context) when this thread ends, in reverse order of registration; for the thread that
/// ends the process, at exit. Throws std::bad_alloc.
void at_thread_exit(void (*f)(void*), void* context);

/// The object of a thread_local pointer: created at its first use, destroyed when the thread ends.
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
