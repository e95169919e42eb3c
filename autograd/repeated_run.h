// What a function does beside its result, when it runs again.
//
// A forward pass may leave something behind: batch norm moves its running statistics. recompute()
// runs a function a second time for the same step, and the gradient checker runs one hundreds of
// times for no step at all; both say so, and whoever leaves something behind asks.
#pragma once

namespace tapestry {

/// What this thread runs while one of these is alive has run before, or is only tried out.
class RepeatedRun {
public:
    RepeatedRun();
    ~RepeatedRun();
    RepeatedRun(const RepeatedRun&) = delete;
    RepeatedRun& operator=(const RepeatedRun&) = delete;
};

bool is_repeated_run();

}  // namespace tapestry
