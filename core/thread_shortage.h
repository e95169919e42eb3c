// When the system has fewer threads to give than num_threads() asks for: a limit on processes, a
// container's, or on the address space that their stacks need. Loops then go on with those that
// there are, and give the same bits. Read next: parallel.h.
#pragma once

#include <functional>
#include <string>

namespace tapestry {

struct ThreadShortage {
    int wanted = 0;
    int taken = 0;            ///< what num_threads() is from now on; at least 1
    std::string reason = {};  ///< the system's
};

/// `told` is called when a loop gets fewer threads than it should have, on the thread that runs the
/// loop; what it throws comes out of there. It takes the place of the one before; empty: nobody is
/// told, which is so at the beginning.
void on_thread_shortage(std::function<void(const ThreadShortage&)> told);

namespace detail {
void tell_thread_shortage(const ThreadShortage& shortage);
}  // namespace detail

}  // namespace tapestry
