// The clock used to measure and to wait.
#pragma once

#include <chrono>

namespace tapestry {

/// A clock that is never set back.
using Clock = std::chrono::steady_clock;

/// The seconds since `start`.
inline double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace tapestry
