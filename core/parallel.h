// Work split among threads in fixed chunks.
//
// The split into chunks depends only on the work, never on the number of threads, and nothing here
// adds floating-point numbers across threads: this is why the same seed gives the same bits with
// one thread and with sixteen. The threads are in thread_pool.h.
#pragma once

#include <tapestry/core/floating_point.h>

#include <cstdint>
#include <type_traits>

namespace tapestry {

/// Threads used by parallel_for: TAPESTRY_THREADS if set, else one per core; within an
/// OwnThreadsGuard of this thread, its number.
int num_threads();

/// Sets the number of threads. Throws ValueError unless 1 <= n <= 1024.
void set_num_threads(int n);

/// Uses n threads until this leaves scope, then as many as before.
class ThreadsGuard {
public:
    /// Throws ValueError unless 1 <= n <= 1024.
    explicit ThreadsGuard(int n) : before_(num_threads()) { set_num_threads(n); }
    ~ThreadsGuard() { set_num_threads(before_); }
    ThreadsGuard(const ThreadsGuard&) = delete;
    ThreadsGuard& operator=(const ThreadsGuard&) = delete;

private:
    int before_;
};

/// The same for loops of this thread only, so several threads may have one at once. A smaller
/// number that set_num_threads() sets on this thread holds within it as well.
class OwnThreadsGuard {
public:
    /// Throws ValueError unless 1 <= n <= 1024.
    explicit OwnThreadsGuard(int n);
    ~OwnThreadsGuard();
    OwnThreadsGuard(const OwnThreadsGuard&) = delete;
    OwnThreadsGuard& operator=(const OwnThreadsGuard&) = delete;

private:
    int before_;
};

namespace detail {
using ChunkFunction = void (*)(void* context, std::int64_t chunk);

/// Type-erased parallel_for_chunks().
void parallel_chunks(std::int64_t chunks, ChunkFunction f, void* context);
}  // namespace detail

/// Calls f(chunk) for 0 <= chunk < chunks, spread over the threads; returns when all are done. Runs
/// serially inside another such loop. Rethrows what f throws; if several chunks throw, the
/// exception of the lowest. Every chunk runs under the standard's floating-point state.
template <class F>
void parallel_for_chunks(std::int64_t chunks, F&& f) {
    if (chunks <= 0) return;
    if (chunks == 1) {
        const FloatingPointGuard standard;
        f(std::int64_t{0});
        return;
    }
    detail::parallel_chunks(
        chunks,
        [](void* context, std::int64_t chunk) {
            (*static_cast<std::remove_reference_t<F>*>(context))(chunk);
        },
        const_cast<void*>(static_cast<const void*>(&f)));
}

/// Calls f(begin, end) over pieces of [0, n), each of length `grain` except possibly the last.
template <class F>
void parallel_for(std::int64_t n, std::int64_t grain, F&& f) {
    if (grain < 1) grain = 1;
    const std::int64_t chunks = n <= 0 ? 0 : (n - 1) / grain + 1;
    parallel_for_chunks(chunks, [&f, n, grain](std::int64_t chunk) {
        const std::int64_t begin = chunk * grain;
        f(begin, n - begin < grain ? n : begin + grain);
    });
}

}  // namespace tapestry
