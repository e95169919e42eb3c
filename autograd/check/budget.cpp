#include <tapestry/autograd/check/budget.h>

#include <tapestry/core/error.h>

namespace tapestry::checker {

Budget::Budget(const GradcheckLimits& limits)
    : allowed_(limits.evaluations), seconds_(limits.seconds) {
    require(allowed_ > 0, "gradcheck: limits.evaluations = {} is not positive", allowed_);
    require(seconds_ > 0, "gradcheck: limits.seconds = {} is not positive", seconds_);
}

void Budget::spend() {
    if (evaluations_ >= allowed_) throw Spent{fmt::format("the limit of {} evaluations", allowed_)};
    const std::chrono::duration<double> passed = Clock::now() - start_;
    if (passed.count() >= seconds_) throw Spent{fmt::format("the limit of {} seconds", seconds_)};
    ++evaluations_;
}

}  // namespace tapestry::checker
