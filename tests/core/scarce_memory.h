// Runs out of memory at any point of a function.
#pragma once

#include <doctest/doctest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <new>

namespace tapestry::test {

/// Leaves malloc only about `room` bytes while it lives.
class ScarceMemory {
public:
    explicit ScarceMemory(std::size_t room) {
        void* volatile const spare = std::malloc(room);  // volatile, or a compiler may omit it
        for (std::size_t bytes = std::size_t{1} << 20; bytes >= sizeof(Block); bytes /= 2) {
            while (void* const taken = std::malloc(bytes)) taken_ = new (taken) Block{taken_};
        }
        std::free(spare);
    }
    ~ScarceMemory() {
        while (taken_ != nullptr) {
            void* const block = taken_;
            taken_ = taken_->next;
            std::free(block);
        }
    }
    ScarceMemory(const ScarceMemory&) = delete;
    ScarceMemory& operator=(const ScarceMemory&) = delete;

private:
    struct Block {
        Block* next;
    };
    Block* taken_ = nullptr;
};

inline bool limit_address_space(std::size_t more) {
    std::ifstream file("/proc/self/statm");
    std::size_t pages = 0;
    if (!(file >> pages)) return false;
    const std::size_t bytes = pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) + more;
    const rlimit limit{bytes, bytes};
    return setrlimit(RLIMIT_AS, &limit) == 0 &&
           mmap(nullptr, 4 * more, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED;
}

/// Runs f() in a forked process with more and more memory until it succeeds; returns how often it
/// threw std::bad_alloc before. -1: the process died; -2: memory cannot be limited here.
template <class F>
int failures_before_success(const F& f) {
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        if (!limit_address_space(std::size_t{16} << 20)) _exit(255);
        int failures = 0;
        for (double room = 256;; room *= 1.1) {
            try {
                const ScarceMemory scarce(static_cast<std::size_t>(room));
                f();
                _exit(failures);
            } catch (const std::bad_alloc&) {
                if (++failures == 250) _exit(254);
            }
        }
    }
    int status = 0;
    REQUIRE_EQ(waitpid(child, &status, 0), child);
    if (!WIFEXITED(status)) return -1;
    return WEXITSTATUS(status) == 255 ? -2 : WEXITSTATUS(status);
}

}  // namespace tapestry::test
