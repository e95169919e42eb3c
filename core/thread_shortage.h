// Reports that the system provides fewer threads than num_threads(), because of a limit on
// processes, on a container, or on the address space for stacks. Loops then continue with the
// threads available, with the same bits. Read next: parallel.h.
#pragma once

#include <functional>
#include <string>

namespace tapestry {

/// What the system refused, and how many threads are left.
struct ThreadShortage {
    int wanted = 0;           ///< num_threads() before
    int taken = 0;            ///< num_threads() from now on; at least 1
    std::string reason = {};  ///< from the system
};

/// Sets `told`, called when a loop gets fewer threads than it should have, on the thread that runs
/// the loop, which receives its exceptions. Replaces the previous one; empty (the default): no
/// report.
void on_thread_shortage(std::function<void(const ThreadShortage&)> told);

namespace detail {
void tell_thread_shortage(const ThreadShortage& shortage);
}  // namespace detail

}  // namespace tapestry
