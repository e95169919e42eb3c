// Team, as it was called: what a loop of training steps had to be put into before parallel loops
// had threads that stay (thread_pool.h). Nothing needs it any more.
#pragma once

#include <tapestry/core/parallel.h>

#include <utility>

namespace tapestry {
namespace detail {

struct FormerTeam {
    template <class F>
    static void run(F&& f) {
        std::forward<F>(f)();
    }
    /// Does this thread share its loops with others?
    static bool is_leader() { return num_threads() > 1; }
};

}  // namespace detail

using Team [[deprecated("parallel loops keep their threads by themselves: call f()")]] =
    detail::FormerTeam;

}  // namespace tapestry
