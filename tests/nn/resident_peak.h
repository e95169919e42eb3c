// The memory that a part of a program takes in RAM, of which the allocator's own figures know
// nothing: buffers of files, and address space that is never written.
#pragma once

#include <tapestry/core/storage.h>

#include <fstream>
#include <optional>
#include <string>

namespace tapestry::test {

// The most memory, in bytes, that this process has had in RAM while `f` ran, beyond what it had
// before; nothing where the system does not say.
template <class F>
std::optional<double> resident_peak(const F& f) {
    release_cached_memory();
    if (!(std::ofstream("/proc/self/clear_refs") << 5 << std::flush)) return std::nullopt;
    const auto peak = [] {
        std::ifstream status("/proc/self/status");
        for (std::string word; status >> word;) {
            if (word != "VmHWM:") continue;
            double kilobytes = 0;
            status >> kilobytes;
            return 1024 * kilobytes;
        }
        return 0.0;
    };
    const double before = peak();
    f();
    return peak() - before;
}

}  // namespace tapestry::test
