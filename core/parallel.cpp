#include <tapestry/core/error.h>
#include <tapestry/core/parallel.h>

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <exception>

namespace tapestry {
namespace {

constexpr int kMaxThreads = 1024;

int initial_threads() {
    const char* text = std::getenv("TAPESTRY_THREADS");
    if (text == nullptr) return std::max(1, omp_get_num_procs());
    int n = 0;
    const char* end = text + std::strlen(text);
    const auto [rest, error] = std::from_chars(text, end, n);
    require(error == std::errc{} && rest == end && n >= 1 && n <= kMaxThreads,
            "TAPESTRY_THREADS={}: not a number of threads from 1 to {}", text, kMaxThreads);
    return n;
}

std::atomic<int>& threads() {
    static std::atomic<int> value{initial_threads()};
    return value;
}

}  // namespace

int num_threads() { return threads().load(std::memory_order_relaxed); }

void set_num_threads(int n) {
    require(n >= 1 && n <= kMaxThreads, "set_num_threads: {} is not from 1 to {}", n, kMaxThreads);
    threads().store(n, std::memory_order_relaxed);
}

void detail::parallel_chunks(std::int64_t chunks, ChunkFunction f, void* context) {
    const int team = static_cast<int>(std::min<std::int64_t>(chunks, num_threads()));
    if (team <= 1 || omp_in_parallel() != 0) {
        for (std::int64_t chunk = 0; chunk < chunks; ++chunk) f(context, chunk);
        return;
    }
    // An exception may not leave an OpenMP region. Of several, the lowest chunk's is thrown again,
    // as it would be without threads.
    std::exception_ptr error;
    std::int64_t error_chunk = chunks;
#pragma omp parallel for num_threads(team) schedule(dynamic, 1)
    for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
        try {
            f(context, chunk);
        } catch (...) {
#pragma omp critical(tapestry_parallel_error)
            if (chunk < error_chunk) {
                error = std::current_exception();
                error_chunk = chunk;
            }
        }
    }
    if (error) std::rethrow_exception(error);
}

}  // namespace tapestry
