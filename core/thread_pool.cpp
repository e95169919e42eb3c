#include <tapestry/core/error.h>
#include <tapestry/core/thread_pool.h>

#include <pthread.h>

#include <algorithm>
#include <system_error>
#include <utility>

// There where the program uses OpenMP, else null: Tapestry itself needs none.
extern "C" [[gnu::weak]] int omp_in_parallel();

namespace tapestry::detail {
namespace {

bool in_openmp_region() { return omp_in_parallel != nullptr && omp_in_parallel() != 0; }

thread_local ThreadPool* ours = nullptr;  // this thread's
thread_local bool alone = false;          // it runs a chunk, or is ending: its loops are its own

/// Ends the pool with its thread.
struct Owner {
    ~Owner() {
        alone = true;
        delete std::exchange(ours, nullptr);
    }
};

/// While a thread does its share of a loop.
class AloneGuard {
public:
    AloneGuard() { alone = true; }
    ~AloneGuard() { alone = false; }
    AloneGuard(const AloneGuard&) = delete;
    AloneGuard& operator=(const AloneGuard&) = delete;
};

// A forked process has the thread that forked, and of its pool only the memory, in whatever state
// it was. It is left alone; the next loop starts another.
void forget_pool() { ours = nullptr; }

}  // namespace

ThreadPool* ThreadPool::of_this_thread() {
    if (alone || in_openmp_region()) return nullptr;
    if (ours == nullptr) {
        thread_local const Owner owner;
        ours = new ThreadPool;
    }
    return ours;
}

ThreadPool::ThreadPool() {
    [[maybe_unused]] static const int registered = pthread_atfork(nullptr, nullptr, forget_pool);
}

ThreadPool::~ThreadPool() {
    over_.store(true, std::memory_order_seq_cst);
    for (const auto& worker : workers_) wake(*worker);
    for (const auto& worker : workers_) worker->thread.join();
}

void ThreadPool::share(std::int64_t chunks, ChunkFunction f, void* context, int threads) {
    grow(threads);
    const AloneGuard in_loop;
    loop_.publish(chunks, f, context, threads);
    const auto useful = static_cast<std::size_t>(std::min<std::int64_t>(threads, chunks)) - 1;
    for (std::size_t i = 0; i < useful; ++i) {
        if (workers_[i]->asleep.load(std::memory_order_seq_cst)) wake(*workers_[i]);
    }
    loop_.work(0);
    loop_.finish();
}

void ThreadPool::grow(int threads) {
    while (static_cast<int>(workers_.size()) < threads - 1) {
        const int member = static_cast<int>(workers_.size()) + 1;
        auto worker = std::make_unique<Worker>();
        workers_.reserve(workers_.size() + 1);
        try {
            worker->thread =
                std::thread([this, &worker = *worker, member] { serve(worker, member); });
        } catch (const std::system_error& error) {
            fail<Error>(
                "parallel_for: the system started {} of {} threads ({}); "
                "set_num_threads({}) or TAPESTRY_THREADS={} asks for no more",
                member, threads, error.code().message(), member, member);
        }
        workers_.push_back(std::move(worker));
    }
}

void ThreadPool::serve(Worker& worker, int member) {
    const AloneGuard in_loop;
    Patience patience;
    while (!over_.load(std::memory_order_acquire)) {
        if (loop_.has_work(member)) {
            loop_.work(member);
            patience = {};
        } else if (!patience.wait()) {
            sleep(worker, member);
            patience = {};
        }
    }
}

// Whoever goes to sleep says so before it looks for work a last time; whoever brings work looks for
// sleepers after: one of the two sees the other.
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

}  // namespace tapestry::detail
