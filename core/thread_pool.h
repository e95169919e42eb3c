// ThreadPool: the threads with which one thread shares its parallel loops. Internal to core.
//
// A step of a small model is a hundred loops of a few microseconds each. So the threads persist:
// they are started at the first loop, look for the next one for a while, then sleep. Handing over a
// loop costs one store, and its chunks are taken one at a time. On a busy machine it matters that a
// loop waits only for chunks, never for threads: a thread that the system has suspended takes no
// chunk, and the loop ends without it.
//
// The threads are OpenMP's, in a single parallel region that one thread of the pool opens and that
// stays open. So OMP_PROC_BIND, OMP_PLACES and OMP_THREAD_LIMIT have their usual meaning, and the
// wait for all threads at the end of a region only happens when the pool ends.
//
// Each thread that runs loops has its own pool, which ends with it.
#pragma once

#include <tapestry/core/clock.h>
#include <tapestry/core/parallel.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace tapestry::detail {

/// Waits in three stages: spins, for waits of microseconds; then yields, because on a busy machine
/// the thread waited for may need this very core; then gives up.
class SpinWait {
public:
    /// False once waiting is no longer worthwhile.
    bool wait() {
        if (++turns_ < kSpins) {
            pause();
            return true;
        }
        if (turns_ == kSpins) since_ = Clock::now();
        std::this_thread::yield();
        return Clock::now() - since_ < kYielding;
    }

private:
    static constexpr int kSpins = 2000;                              // about 20 to 80 microseconds
    static constexpr auto kYielding = std::chrono::milliseconds(2);  // longer than any serial part

    static void pause() {
#if defined(__x86_64__)
        __builtin_ia32_pause();
#elif defined(__aarch64__)
        asm volatile("yield");
#endif
    }

    int turns_ = 0;
    Clock::time_point since_;
};

/// A parallel loop and the assignment of its chunks to threads.
///
/// `open_` holds the chunks not yet taken, and which threads may take some. It is one word, so a
/// thread that read it before the last loop ended can still only take a chunk that exists: either
/// the exchange fails, or the chunk belongs to the current loop.
///
/// Chunks are taken from both ends: from the first upwards by members of even numbers, from the
/// last downwards by the others. So in loop after loop over the same rows a core gets those that it
/// wrote itself, which are in its own cache.
class SharedLoop {
public:
    static constexpr int kChunkBits = 26;  // per end; the rest of the word counts threads
    static constexpr std::int64_t kMostChunks = (std::int64_t{1} << kChunkBits) - 1;
    static constexpr int kMostThreads = (1 << (64 - 2 * kChunkBits)) - 1;

    /// On the leader: publishes the loop for members 0 .. threads - 1. The previous one must be
    /// over.
    void publish(std::int64_t chunks, ChunkFunction f, void* context, int threads) {
        f_ = f;
        context_ = context;
        chunks_ = chunks;
        error_ = nullptr;
        finished_.store(0, std::memory_order_relaxed);
        open_.store(pack({.threads = threads, .first = 0, .end = chunks}),
                    std::memory_order_seq_cst);
    }

    /// Runs chunks until none are left. `member` is 0 for the leader.
    void work(int member) noexcept {
        const FloatingPointGuard standard;
        std::int64_t done = 0;
        for (std::int64_t chunk; (chunk = take(member)) >= 0; ++done) {
            try {
                f_(context_, chunk);
            } catch (...) {
                remember(chunk);
            }
        }
        if (done > 0) finished_.fetch_add(done, std::memory_order_acq_rel);
    }

    bool has_work(int member) const {
        const Open open = unpack(open_.load(std::memory_order_seq_cst));
        return open.first < open.end && member < open.threads;
    }

    /// On the leader: waits for chunks taken by others; rethrows their exception, if any.
    void finish() {
        SpinWait spin;
        while (finished_.load(std::memory_order_acquire) < chunks_) spin.wait();
        if (error_) std::rethrow_exception(error_);
    }

private:
    struct Open {
        int threads;
        std::int64_t first, end;  // chunks not yet taken
    };

    static std::uint64_t pack(Open open) {
        return static_cast<std::uint64_t>(open.threads) << 2 * kChunkBits |
               static_cast<std::uint64_t>(open.first) << kChunkBits |
               static_cast<std::uint64_t>(open.end);
    }
    static Open unpack(std::uint64_t word) {
        constexpr auto kMost = static_cast<std::uint64_t>(kMostChunks);
        return {.threads = static_cast<int>(word >> 2 * kChunkBits),
                .first = static_cast<std::int64_t>(word >> kChunkBits & kMost),
                .end = static_cast<std::int64_t>(word & kMost)};
    }

    /// A chunk that now belongs to this thread, or -1. Until it is finished the loop is not over,
    /// so the data written by publish() remain valid.
    std::int64_t take(int member) {
        std::uint64_t word = open_.load(std::memory_order_acquire);
        for (;;) {
            Open open = unpack(word);
            if (open.first >= open.end || member >= open.threads) return -1;
            const std::int64_t chunk = member % 2 == 0 ? open.first++ : --open.end;
            if (open_.compare_exchange_weak(word, pack(open), std::memory_order_acq_rel,
                                            std::memory_order_acquire)) {
                return chunk;
            }
        }
    }

    void remember(std::int64_t chunk) {
        const std::lock_guard lock(error_mutex_);
        if (error_ && error_chunk_ < chunk) return;
        error_ = std::current_exception();
        error_chunk_ = chunk;
    }

    alignas(64) std::atomic<std::uint64_t> open_{0};
    alignas(64) std::atomic<std::int64_t> finished_{0};
    alignas(64) ChunkFunction f_ = nullptr;
    void* context_ = nullptr;
    std::int64_t chunks_ = 0;
    std::exception_ptr error_;
    std::int64_t error_chunk_ = 0;
    std::mutex error_mutex_;
};

class ThreadPool {
public:
    /// The pool of the calling thread. Null where loops must run only on their own thread: inside a
    /// chunk of another loop, and inside a parallel region of OpenMP, whose threads occupy the
    /// cores.
    static ThreadPool* of_this_thread();

    ThreadPool();
    ~ThreadPool();
    ThreadPool(const ThreadPool&) = delete;
    ThreadPool& operator=(const ThreadPool&) = delete;

    /// Runs f(context, 0 .. chunks - 1) on the calling thread and up to threads - 1 of the pool's.
    /// Rethrows what f throws; if several chunks throw, the exception of the lowest. If the system
    /// provides fewer threads, num_threads() becomes their number (thread_shortage.h).
    void share(std::int64_t chunks, ChunkFunction f, void* context, int threads);

private:
    struct Worker {
        std::atomic<bool> asleep{false};
        std::mutex mutex;
        std::condition_variable bell;
    };

    int start(int wanted);
    void stop();
    void serve(Worker& worker, int member);
    void sleep(Worker& worker, int member);
    static void wake(Worker& worker);

    SharedLoop loop_;
    std::atomic<bool> over_{false};
    std::vector<std::unique_ptr<Worker>> workers_;  // worker i is member i + 1 of a loop
    std::thread host_;                              // worker 0, opened the region
};

}  // namespace tapestry::detail
