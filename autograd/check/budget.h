// How often a function may still be evaluated, and until when. Internal to autograd/check.
#pragma once

#include <tapestry/autograd/check/verdict.h>
#include <tapestry/core/clock.h>

#include <chrono>
#include <string>

namespace tapestry::checker {

class Budget {
public:
    /// No std::exception, for what somebody's function throws is caught as one.
    struct Spent {
        std::string limit;  ///< "the limit of 1000 evaluations"
    };

    /// Time counts from here. Throws ValueError for limits that are not positive.
    explicit Budget(const GradcheckLimits& limits);

    /// One evaluation more. Throws Spent where a limit allows none.
    void spend();

private:
    std::int64_t allowed_, evaluations_ = 0;
    double seconds_;
    Clock::time_point start_ = Clock::now();
};

}  // namespace tapestry::checker
