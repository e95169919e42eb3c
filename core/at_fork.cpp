#include <tapestry/core/at_fork.h>

#include <pthread.h>

#include <new>
#include <vector>

namespace tapestry::detail {
namespace {

// The calls for one lock.
struct Held {
    void* lock;
    void (*take)(void*);
    void (*release)(void*);
};

struct Registry {
    std::mutex mutex;
    std::vector<Held> held;
};

Registry& registry() {
    static auto* const instance = new Registry;  // never destroyed: fork() may come later
    return *instance;
}

void take_all() {
    Registry& all = registry();
    all.mutex.lock();
    for (auto one = all.held.rbegin(); one != all.held.rend(); ++one) one->take(one->lock);
}

void release_all() {
    Registry& all = registry();
    for (const Held& one : all.held) one.release(one.lock);
    all.mutex.unlock();
}

void watch_fork() {
    static const bool watched = pthread_atfork(take_all, release_all, release_all) == 0;
    if (!watched) throw std::bad_alloc();
}

template <class Lock>
void add(Lock& lock) {
    watch_fork();
    Registry& all = registry();
    const std::lock_guard guard(all.mutex);
    all.held.push_back({&lock, [](void* one) { static_cast<Lock*>(one)->lock(); },
                        [](void* one) { static_cast<Lock*>(one)->unlock(); }});
}

}  // namespace

void hold_across_fork(std::mutex& lock) { add(lock); }
void hold_across_fork(std::shared_mutex& lock) { add(lock); }

}  // namespace tapestry::detail
