// SharedLoop: a loop, and who does what of it. Internal to core. Read
// next: thread_pool.h, whose threads it is handed to.
#pragma once

#include <tapestry/core/parallel.h>

#include <atomic>
#include <chrono>
#include <exception>
#include <mutex>
#include <thread>

namespace tapestry::detail {

/// Waiting in three tempers: by looking again, for what lasts microseconds; by letting others run
/// in between, for on a busy machine the thread waited for may need this very core; then no more.
class Patience {
public:
    /// False when waiting has gone on for longer than it is worth.
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
    using Clock = std::chrono::steady_clock;
    static constexpr int kSpins = 2000;                              // some 20 to 80 microseconds
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

/// `open_` tells how many chunks nobody has taken yet, and which threads may take some. One word,
/// so that a thread that read it before the last loop ended can still only take a chunk that
/// exists: the exchange fails, or it is of the loop that now runs.
class SharedLoop {
public:
    /// On the leader: publishes the loop, for members 0 .. threads - 1. The one before is over.
    void publish(std::int64_t chunks, ChunkFunction f, void* context, int threads) {
        f_ = f;
        context_ = context;
        chunks_ = chunks;
        error_ = nullptr;
        finished_.store(0, std::memory_order_relaxed);
        open_.store(pack(threads, chunks), std::memory_order_seq_cst);
    }

    /// Does chunks until there are none left. `member` is 0 for the leader.
    void work(int member) noexcept {
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
        const std::uint64_t open = open_.load(std::memory_order_seq_cst);
        return left(open) > 0 && member < threads(open);
    }

    /// On the leader: waits for the chunks that others took; throws what one of them threw.
    void finish() {
        Patience patience;
        while (finished_.load(std::memory_order_acquire) < chunks_) patience.wait();
        if (error_) std::rethrow_exception(error_);
    }

private:
    static constexpr int kChunkBits = 48;
    static std::uint64_t pack(int threads, std::int64_t chunks) {
        return static_cast<std::uint64_t>(threads) << kChunkBits |
               static_cast<std::uint64_t>(chunks);
    }
    static std::int64_t left(std::uint64_t open) {
        return static_cast<std::int64_t>(open & ((std::uint64_t{1} << kChunkBits) - 1));
    }
    static int threads(std::uint64_t open) { return static_cast<int>(open >> kChunkBits); }

    /// A chunk that is now this thread's, or -1. Until it is finished the loop is not over, so what
    /// publish() wrote stands still.
    std::int64_t take(int member) {
        std::uint64_t open = open_.load(std::memory_order_acquire);
        while (left(open) > 0 && member < threads(open)) {
            if (open_.compare_exchange_weak(open, open - 1, std::memory_order_acq_rel,
                                            std::memory_order_acquire)) {
                return chunks_ - left(open);
            }
        }
        return -1;
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

}  // namespace tapestry::detail
