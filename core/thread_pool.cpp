#include <tapestry/core/thread_pool.h>

#include <tapestry/core/at_fork.h>
#include <tapestry/core/thread_exit.h>
#include <tapestry/core/thread_shortage.h>

#include <omp.h>
#include <pthread.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <system_error>
#include <utility>

namespace tapestry {

// ---- thread shortage ----------------------------------------------------------------------------

namespace {

using Told = std::function<void(const ThreadShortage&)>;

std::mutex told_mutex;

Told& current_told() {
    static Told told;
    return told;
}

}  // namespace

void on_thread_shortage(Told told) {
    const std::lock_guard lock(told_mutex);
    std::swap(current_told(), told);
}

void detail::tell_thread_shortage(const ThreadShortage& shortage) {
    Told told;
    {
        const std::lock_guard lock(told_mutex);
        told = current_told();
    }
    if (told) told(shortage);
}

// ---- the pool -----------------------------------------------------------------------------------

namespace detail {
namespace {

thread_local ThreadPool* ours = nullptr;  // this thread's
thread_local bool alone = false;          // runs a chunk, or is ending: runs its loops itself

// The pool ends with its thread.
void end_pool(void*) {
    alone = true;
    delete std::exchange(ours, nullptr);
}

/// Marks a thread that works on its share of a loop.
class AloneGuard {
public:
    AloneGuard() { alone = true; }
    ~AloneGuard() { alone = false; }
    AloneGuard(const AloneGuard&) = delete;
    AloneGuard& operator=(const AloneGuard&) = delete;
};

// OpenMP terminates the process if the system has no thread for a region. So this first starts
// `count` threads, alive at the same time, and returns how many the system provides. `reason`: why
// not all. Each gets its malloc arena before the next is started: otherwise stacks would take the
// address space that the arenas then lack, and the count would depend on a race.
int startable_threads(int count, std::string& reason) {
    std::atomic<bool> tried{false};
    std::atomic<int> ready{0};
    std::vector<std::thread> threads;
    threads.reserve(static_cast<std::size_t>(count));
    try {
        for (int i = 0; i < count; ++i) {
            threads.emplace_back([&] {
                void* volatile const block = std::malloc(1);
                std::free(block);
                ready.fetch_add(1);
                ready.notify_one();
                tried.wait(false);
            });
            for (int now = ready.load(); now <= i; now = ready.load()) ready.wait(now);
        }
    } catch (const std::system_error& error) {
        reason = error.code().message();
    }
    tried.store(true);
    tried.notify_all();
    for (std::thread& thread : threads) thread.join();
    return static_cast<int>(threads.size());
}

// How many threads a loop that requests `wanted` can have, including its own. If threads are scarce
// a few are left: for a thread that writes files and, if the limit is the address space, for
// OpenMP's own tables and later allocations.
int threads_to_take(int wanted) {
    constexpr int kLeft = 4;
    std::string reason;
    const int others = startable_threads(wanted - 1, reason);
    if (others == wanted - 1) return wanted;
    const int taken = std::max(1, others + 1 - kLeft);
    set_num_threads(taken);
    tell_thread_shortage({.wanted = wanted, .taken = taken, .reason = reason});
    return taken;
}

// A forked process only has the thread that forked, and of its pool only the memory, in an
// arbitrary state. That pool is abandoned; the next loop starts another.
void forget_pool() { ours = nullptr; }

}  // namespace

ThreadPool* ThreadPool::of_this_thread() {
    if (alone || omp_in_parallel() != 0) return nullptr;
    if (ours == nullptr) {
        at_thread_exit(end_pool, nullptr);
        ours = new ThreadPool;
    }
    return ours;
}

ThreadPool::ThreadPool() {
    [[maybe_unused]] static const bool registered = [] {
        hold_across_fork(told_mutex);
        return pthread_atfork(nullptr, nullptr, forget_pool) == 0;
    }();
}

ThreadPool::~ThreadPool() { stop(); }

void ThreadPool::share(std::int64_t chunks, ChunkFunction f, void* context, int threads) {
    if (static_cast<int>(workers_.size()) < threads - 1) {
        stop();
        threads = start(threads);
    }
    const AloneGuard in_loop;
    loop_.publish(chunks, f, context, threads);
    const auto useful = static_cast<std::size_t>(std::min<std::int64_t>(threads, chunks)) - 1;
    for (std::size_t i = 0; i < useful; ++i) {
        if (workers_[i]->asleep.load(std::memory_order_seq_cst)) wake(*workers_[i]);
    }
    loop_.work(0);
    loop_.finish();
}

// Returns the number of threads.
int ThreadPool::start(int wanted) {
    const int threads = threads_to_take(wanted);
    if (threads == 1) return 1;
    over_.store(false, std::memory_order_relaxed);
    for (int i = 1; i < threads; ++i) workers_.push_back(std::make_unique<Worker>());
    // OpenMP may open a smaller region (OMP_THREAD_LIMIT): the other workers take no chunks then.
    host_ = std::thread([this, count = threads - 1] {
#pragma omp parallel num_threads(count)
        {
            const int i = omp_get_thread_num();
            serve(*workers_[static_cast<std::size_t>(i)], i + 1);
        }
    });
    return threads;
}

void ThreadPool::stop() {
    if (!host_.joinable()) return;
    over_.store(true, std::memory_order_seq_cst);
    for (const auto& worker : workers_) wake(*worker);
    host_.join();
    workers_.clear();
}

void ThreadPool::serve(Worker& worker, int member) {
    const AloneGuard in_loop;
    SpinWait spin;
    while (!over_.load(std::memory_order_acquire)) {
        if (loop_.has_work(member)) {
            loop_.work(member);
            spin = {};
        } else if (!spin.wait()) {
            sleep(worker, member);
            spin = {};
        }
    }
}

// A worker announces its sleep before it looks for work one last time; the leader publishes work
// before it looks for sleepers: one of the two sees the other.
void ThreadPool::sleep(Worker& worker, int member) {
    std::unique_lock lock(worker.mutex);
    worker.asleep.store(true, std::memory_order_seq_cst);
    if (over_.load(std::memory_order_seq_cst) || loop_.has_work(member)) {
        worker.asleep.store(false, std::memory_order_relaxed);
    }
    worker.bell.wait(lock, [&] { return !worker.asleep.load(std::memory_order_relaxed); });
}

void ThreadPool::wake(Worker& worker) {
    {
        const std::lock_guard lock(worker.mutex);
        worker.asleep.store(false, std::memory_order_relaxed);
    }
    worker.bell.notify_one();
}

}  // namespace detail

}  // namespace tapestry
