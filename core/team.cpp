#include <tapestry/core/parallel.h>
#include <tapestry/core/team.h>

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

namespace tapestry {
namespace {

using detail::ChunkFunction;

void pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

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
    int turns_ = 0;
    Clock::time_point since_;
};

/// A loop, and who does what of it. `open` tells how many chunks nobody has taken yet, and which
/// threads may take some. One word, so that a thread that read it before the last loop ended can
/// still only take a chunk that exists: the exchange fails, or it is of the loop that now runs.
class SharedLoop {
public:
    /// On the leader: publishes the loop. The one before is over.
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

/// The threads of one region and how those that wait long are put to sleep and woken.
class Members {
public:
    explicit Members(int count) : count_(count) {}

    void share(std::int64_t chunks, ChunkFunction f, void* context) {
        loop_.publish(chunks, f, context, std::min(num_threads(), count_));
        if (sleepers_.load(std::memory_order_seq_cst) > 0) wake();
        loop_.work(0);
        loop_.finish();
    }

    void serve(int member) {
        Patience patience;
        while (!over_.load(std::memory_order_acquire)) {
            if (loop_.has_work(member)) {
                loop_.work(member);
                patience = {};
            } else if (!patience.wait()) {
                sleep(member);
                patience = {};
            }
        }
    }

    void dismiss() {
        over_.store(true, std::memory_order_seq_cst);
        wake();
    }

private:
    // Whoever goes to sleep says so before it looks for work a last time; whoever brings work looks
    // for sleepers after: one of the two sees the other.
    void sleep(int member) {
        std::unique_lock lock(mutex_);
        sleepers_.fetch_add(1, std::memory_order_seq_cst);
        bell_.wait(lock, [&] { return over_.load() || loop_.has_work(member); });
        sleepers_.fetch_sub(1, std::memory_order_seq_cst);
    }

    void wake() {
        { const std::lock_guard lock(mutex_); }
        bell_.notify_all();
    }

    const int count_;
    SharedLoop loop_;
    std::atomic<bool> over_{false};
    std::atomic<int> sleepers_{0};
    std::mutex mutex_;
    std::condition_variable bell_;
};

thread_local Members* led = nullptr;    // by this thread
thread_local bool inside_loop = false;  // this thread runs a chunk: loops in it are its own

/// Sets a thread's variable until it leaves scope.
template <class T>
class Set {
public:
    Set(T& variable, T value) : variable_(variable), before_(variable) { variable = value; }
    ~Set() { variable_ = before_; }
    Set(const Set&) = delete;
    Set& operator=(const Set&) = delete;

private:
    T& variable_;
    T before_;
};

}  // namespace

bool Team::is_leader() { return led != nullptr; }

void Team::run_erased(void (*f)(void*), void* context) {
    if (led != nullptr || inside_loop || num_threads() == 1 || omp_in_parallel() != 0) {
        return f(context);
    }
    std::exception_ptr error;  // it may not leave an OpenMP region
    Members members(num_threads());
#pragma omp parallel num_threads(num_threads())
    if (const int member = omp_get_thread_num(); member == 0) {
        const Set<Members*> leading(led, &members);
        try {
            f(context);
        } catch (...) {
            error = std::current_exception();
        }
        members.dismiss();
    } else {
        const Set<bool> inside(inside_loop, true);
        members.serve(member);
    }
    if (error) std::rethrow_exception(error);
}

void detail::parallel_chunks(std::int64_t chunks, ChunkFunction f, void* context) {
    const bool alone = chunks <= 1 || num_threads() == 1 || inside_loop;
    if (alone || (led == nullptr && omp_in_parallel() != 0)) {
        for (std::int64_t chunk = 0; chunk < chunks; ++chunk) f(context, chunk);
        return;
    }
    if (led == nullptr) return Team::run([&] { parallel_chunks(chunks, f, context); });
    const Set<bool> inside(inside_loop, true);
    led->share(chunks, f, context);
}

}  // namespace tapestry
