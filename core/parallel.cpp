#include <tapestry/core/parallel.h>

#include <tapestry/core/error.h>
#include <tapestry/core/thread_pool.h>
#include <tapestry/core/turn_memory.h>

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdlib>
#include <cstring>

namespace tapestry {
namespace {

constexpr int kMaxThreads = 1024;
static_assert(kMaxThreads <= detail::SharedLoop::kMostThreads);

int initial_threads() {
    const char* text = std::getenv("TAPESTRY_THREADS");
    if (text == nullptr) return std::max(1, omp_get_num_procs());
    int n = 0;
    const char* end = text + std::strlen(text);
    const auto [rest, error] = std::from_chars(text, end, n);
    require(error == std::errc{} && rest == end && n >= 1 && n <= kMaxThreads,
            "TAPESTRY_THREADS={}: must be a number of threads from 1 to {}", text, kMaxThreads);
    return n;
}

std::atomic<int>& threads() {
    static std::atomic<int> value{initial_threads()};
    return value;
}

thread_local int own_threads = 0;  // of an OwnThreadsGuard; 0: none

void require_count(int n) {
    require(n >= 1 && n <= kMaxThreads, "set_num_threads: must be from 1 to {1}, got {0}", n,
            kMaxThreads);
}

// If there are more chunks than a shared loop can count, they are grouped.
void parallel_groups(std::int64_t chunks, detail::ChunkFunction f, void* context) {
    const std::int64_t size = (chunks - 1) / detail::SharedLoop::kMostChunks + 1;
    parallel_for(chunks, size, [=](std::int64_t begin, std::int64_t end) {
        for (std::int64_t chunk = begin; chunk < end; ++chunk) f(context, chunk);
    });
}

}  // namespace

int num_threads() {
    return own_threads > 0 ? own_threads : threads().load(std::memory_order_relaxed);
}

void set_num_threads(int n) {
    require_count(n);
    threads().store(n, std::memory_order_relaxed);
    own_threads = std::min(own_threads, n);
}

OwnThreadsGuard::OwnThreadsGuard(int n) : before_(own_threads) {
    require_count(n);
    own_threads = n;
}
OwnThreadsGuard::~OwnThreadsGuard() { own_threads = before_; }

void detail::parallel_chunks(std::int64_t chunks, ChunkFunction f, void* context) {
    if (chunks > SharedLoop::kMostChunks) return parallel_groups(chunks, f, context);
    const FloatingPointGuard standard;
    const TurnScope outside(nullptr);  // which thread runs a chunk, and when, cannot be planned
    const int threads = chunks > 1 ? num_threads() : 1;
    if (ThreadPool* pool = threads > 1 ? ThreadPool::of_this_thread() : nullptr) {
        return pool->share(chunks, f, context, threads);
    }
    for (std::int64_t chunk = 0; chunk < chunks; ++chunk) f(context, chunk);
}

}  // namespace tapestry
