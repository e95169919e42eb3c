#include <tapestry/core/thread_shortage.h>

#include <mutex>
#include <utility>

namespace tapestry {
namespace {

using Told = std::function<void(const ThreadShortage&)>;

std::mutex mutex;

Told& current() {
    static Told told;
    return told;
}

}  // namespace

void on_thread_shortage(Told told) {
    const std::lock_guard lock(mutex);
    std::swap(current(), told);
}

void detail::tell_thread_shortage(const ThreadShortage& shortage) {
    Told told;
    {
        const std::lock_guard lock(mutex);
        told = current();
    }
    if (told) told(shortage);
}

}  // namespace tapestry
