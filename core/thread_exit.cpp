#include <tapestry/core/thread_exit.h>

#include <pthread.h>

#include <cstdlib>
#include <new>

namespace tapestry {
namespace {

struct ExitCall {
    void (*f)(void*);
    void* context;
    ExitCall* before;
};

thread_local ExitCall* latest = nullptr;

void run_tasks() {
    while (latest != nullptr) {
        const std::unique_ptr<ExitCall> task(std::exchange(latest, latest->before));
        task->f(task->context);
    }
}

/// Calls run_tasks() at the end of every thread that registered. The main thread does not end like
/// others: it needs std::atexit.
class Exits {
public:
    Exits() {
        if (::pthread_key_create(&key_, [](void*) { run_tasks(); }) != 0 ||
            std::atexit(run_tasks) != 0) {
            throw std::bad_alloc();
        }
    }
    void watch_this_thread() const {
        if (::pthread_setspecific(key_, &key_) != 0) throw std::bad_alloc();  // anything but null
    }

private:
    pthread_key_t key_{};
};

}  // namespace

void at_thread_exit(void (*f)(void*), void* context) {
    static const Exits exits;
    auto task = std::make_unique<ExitCall>(ExitCall{f, context, latest});
    exits.watch_this_thread();
    latest = task.release();
}

}  // namespace tapestry
