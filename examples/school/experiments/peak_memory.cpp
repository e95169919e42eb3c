// Read peak_memory.h first.
#include <tapestry/examples/school/experiments/peak_memory.h>

#include <tapestry/core/storage.h>

#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <string>
#include <thread>

namespace tapestry::experiments {
namespace {

// "VmRSS" (now) or "VmHWM" (at the most) of this process, in bytes.
double status(const std::string& field) {
    std::ifstream file("/proc/self/status");
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with(field + ":")) {
            return 1024 * std::strtod(line.c_str() + field.size() + 1, nullptr);
        }
    }
    return std::nan("");
}

// A forked child has its parent's memory, and "at the most" begins at that. What the parent keeps
// for reuse, and scratch that belongs to its threads, must not serve f unnoticed.
double grown(const std::function<void()>& f) {
    const double before = status("VmRSS");
    std::exception_ptr error;
    std::thread([&] {
        try {
            f();
        } catch (...) {  // a thread that throws would end the process
            error = std::current_exception();
        }
    }).join();
    if (error) std::rethrow_exception(error);
    return status("VmHWM") - before;
}

}  // namespace

double peak_resident(const std::function<void()>& f) {
    release_cached_memory();
#ifdef __GLIBC__
    malloc_trim(0);
#endif
    int ends[2];
    if (pipe(ends) != 0) return std::nan("");
    const pid_t child = fork();
    if (child == 0) {
        double bytes = std::nan("");
        try {
            bytes = grown(f);
        } catch (...) {  // the parent is told that nothing was measured
        }
        const bool told = write(ends[1], &bytes, sizeof bytes) == sizeof bytes;
        _exit(told ? 0 : 1);
    }
    close(ends[1]);
    double bytes = std::nan("");
    if (child < 0 || read(ends[0], &bytes, sizeof bytes) != sizeof bytes) bytes = std::nan("");
    close(ends[0]);
    if (child > 0) waitpid(child, nullptr, 0);
    return bytes;
}

}  // namespace tapestry::experiments
