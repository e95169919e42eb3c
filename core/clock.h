// The clock used to measure and to wait.
#pragma once

#include <chrono>

namespace tapestry {

/// A clock that is never set back.
using Clock = std::chrono::steady_clock;

/// The seconds from `start` to `end`.
inline double seconds_between(Clock::time_point start, Clock::time_point end) {
    return std::chrono::duration<double>(end - start).count();
}

/// The seconds since `start`.
inline double seconds_since(Clock::time_point start) {
    return seconds_between(start, Clock::now());
}

}  // namespace tapestry
