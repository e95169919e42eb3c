// How much memory a process needs for something, as the system counts it: everything is in it,
// scratch of kernels as well, which the library's own statistics (core/storage.h) do not see.
#pragma once

#include <functional>

namespace tapestry::experiments {

/// By how many bytes the resident memory of a process that has nothing else to do grows at most
/// while it runs f; a forked child runs it, on threads of its own. NaN where the system does not
/// tell.
double peak_resident(const std::function<void()>& f);

}  // namespace tapestry::experiments
