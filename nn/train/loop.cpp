#include <tapestry/nn/train/loop.h>

#include <tapestry/core/clock.h>
#include <tapestry/core/floating_point.h>

#include <algorithm>
#include <utility>

namespace tapestry {
namespace {

TrainOptions checked(TrainOptions options, const TrainCallbacks& callbacks) {
    require(options.steps >= 1, "train: steps must be at least 1, got {}", options.steps);
    require(options.first_step >= 0, "train: first step must be >= 0, got {}", options.first_step);
    require(options.eval_every >= 0, "train: eval_every must be >= 0, got {}", options.eval_every);
    require(callbacks.loss != nullptr && options.schedule != nullptr,
            "train: needs a loss and a schedule");
    require(options.seconds >= 0, "train: seconds must be >= 0, got {}", options.seconds);
    require(options.seconds == 0 || options.timed_schedule != nullptr,
            "train: a time limit needs a timed_schedule");
    return options;
}

}  // namespace

TrainLoop::TrainLoop(Optimizer& optimizer, TrainOptions options, TrainCallbacks callbacks)
    : options_(checked(std::move(options), callbacks)),
      callbacks_(std::move(callbacks)),
      step_(optimizer, {.accumulate = options_.accumulate,
                        .micro_batches = options_.micro_batches,
                        .clip = options_.clip,
                        .communicator = options_.communicator,
                        .ended = [this](StepPhase phase) { ended(phase); },
                        .plan = options_.plan}),
      steps_(options_.first_step) {}

void TrainLoop::ended(StepPhase phase) {
    if (phase != StepPhase::check || !callbacks_.before_update) return;
    const auto start = Clock::now();
    callbacks_.before_update(steps_ + 1);
    callback_seconds_ = seconds_since(start);
}

// Leaves time for the evaluation at the end; the last step is the one after which no other fits.
double TrainLoop::measured_progress(Clock::time_point now) const {
    if (steps_ == options_.first_step) return options_.first_seconds / options_.seconds;
    const double passed = options_.first_seconds + seconds_between(start_, now);
    const double evaluation =
        callbacks_.evaluate && options_.eval_every > 0
            ? evaluation_seconds_.value_or(options_.evaluation_steps * recent_seconds_)
            : 0;
    const double end = options_.seconds - evaluation;
    return passed + 2 * recent_seconds_ >= end ? 1 : passed / end;
}

double TrainLoop::next_rate(Clock::time_point now, std::optional<double>& progress) {
    if (options_.seconds == 0) return options_.schedule(steps_);
    progress = options_.progress
                   ? options_.progress(steps_)
                   : std::max(measured_progress(now), static_cast<double>(steps_ + 1) /
                                                          static_cast<double>(options_.steps));
    if (*progress >= 1) {
        progress = 1;
        options_.steps = steps_ + 1;
    }
    return options_.timed_schedule(steps_, *progress);
}

StepMetrics TrainLoop::next() {
    const FloatingPointGuard standard;  // for rates and evaluations, too
    const auto start = Clock::now();
    if (steps_ == options_.first_step) start_ = start;
    callback_seconds_ = 0;
    StepMetrics metrics{.step = steps_ + 1};
    metrics.lr = next_rate(start, metrics.progress);
    const StepResult result = step_.take(metrics.step, metrics.lr, callbacks_.loss);
    metrics.loss = result.loss;
    metrics.grad_norm = result.grad_norm;
    metrics.step_seconds = seconds_since(start) - callback_seconds_;
    recent_seconds_ = recent_seconds_ == 0 ? metrics.step_seconds
                                           : 0.9 * recent_seconds_ + 0.1 * metrics.step_seconds;
    ++steps_;
    if (options_.evaluates_after(steps_) && callbacks_.evaluate) {
        const auto begun = Clock::now();
        metrics.val_loss = callbacks_.evaluate();
        evaluation_seconds_ = seconds_since(begun);
    }
    metrics.seconds = options_.first_seconds + seconds_since(start_);
    return metrics;
}

std::int64_t train(Optimizer& optimizer, const TrainOptions& options,
                   const TrainCallbacks& callbacks) {
    TrainLoop loop(optimizer, options, callbacks);
    while (!loop.is_finished()) {
        const StepMetrics metrics = loop.next();
        if (callbacks.report && !callbacks.report(metrics)) break;
    }
    return loop.steps();
}

}  // namespace tapestry
