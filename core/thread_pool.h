// ThreadPool: the threads that one thread shares its parallel loops with. Internal to core.
//
// A step of a small model is a hundred loops of a few microseconds each. So the threads stay: they
// are started at the first loop, look for the next one for a while, then sleep. Handing a loop over
// costs one store, and its chunks are taken one at a time. What matters on a busy machine: only
// chunks are waited for, never threads. One that the system has set aside for another program takes
// no chunk, and the loop ends without it.
//
// The threads are OpenMP's: those of a single parallel region, which a thread of the pool's own
// opens and which stays open. So OMP_PROC_BIND, OMP_PLACES and OMP_THREAD_LIMIT mean what they
// always do, and the wait at a region's end, which would be for threads, comes only with the
// pool's.
//
// Each thread that runs loops has a pool of its own, which ends with it.
#pragma once

#include <tapestry/core/shared_loop.h>

#include <condition_variable>
#include <memory>
#include <vector>

namespace tapestry::detail {

class ThreadPool {
public:
    /// The pool of the thread that asks. Null where loops are to run on their thread alone: inside
    /// a chunk of another loop, and inside a parallel region of OpenMP, whose threads have the
    /// cores.
    static ThreadPool* of_this_thread();

    ThreadPool();
    ~ThreadPool();
    ThreadPool(const ThreadPool&) = delete;
    ThreadPool& operator=(const ThreadPool&) = delete;

    /// f(context, 0 .. chunks - 1) on the calling thread and up to threads - 1 of the pool's. What
    /// f throws is thrown again: of several, the lowest chunk's. Where the system has fewer
    /// threads to give, num_threads() becomes what there is (thread_shortage.h).
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
    std::thread host_;                              // worker 0, and whoever opened the region
};

}  // namespace tapestry::detail
