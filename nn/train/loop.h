// The training loop: steps, learning rates that follow a schedule, and now and then a look at data
// that is not trained on. Read next: train_step.h, what a step is; session.h, a whole training.
#pragma once

#include <tapestry/core/clock.h>
#include <tapestry/nn/inspect/step_metrics.h>
#include <tapestry/nn/optim/schedule.h>
#include <tapestry/nn/train/train_step.h>

#include <chrono>
#include <functional>

namespace tapestry {

struct TrainOptions {
    std::int64_t steps = 2000;
    std::int64_t accumulate = 1;     ///< batches whose gradients are averaged per step
    std::int64_t micro_batches = 1;  ///< parts of each, summed in a tree (gradient_sum.h)
    double clip = 1;                 ///< largest global norm of the gradient; 0 for none
    Schedule schedule = constant_schedule(1e-3);
    std::int64_t eval_every = 0;  ///< steps between evaluations, and one at the end; 0 for none
    std::int64_t first_step = 0;  ///< steps that were taken before, of the same training
    double first_seconds = 0;     ///< and what they took
    Communicator* communicator = nullptr;  ///< TrainStepOptions::communicator

    /// Is there an evaluation after this step, the first being 1?
    bool evaluates_after(std::int64_t step) const {
        return eval_every > 0 && (step % eval_every == 0 || step == steps);
    }
};

struct TrainCallbacks {
    /// The loss of the next batch, or of its next part, computed from the model. Called with a tape
    /// that records.
    BatchLoss loss;
    /// The loss on held-out data; called without a tape. May be empty.
    std::function<double()> evaluate;
    /// Called with the number of the step when its gradients are in place, before clipping and
    /// before the update; the step's seconds go without it. May be empty.
    std::function<void(std::int64_t)> before_update = {};
    /// Called after each step, with its gradients still in place; returning false ends the
    /// training. May be empty.
    std::function<bool(const StepMetrics&)> report;
};

/// Runs the steps. Returns how many were done, those before the first included. Throws ValueError
/// for options out of range, and DivergedError when a loss or gradient is not finite (the
/// parameters are those of the last good step).
std::int64_t train(Optimizer& optimizer, const TrainOptions& options,
                   const TrainCallbacks& callbacks);

/// The same, one step at a time, for a loop of one's own.
class TrainLoop {
public:
    /// The optimiser must outlive the loop. Throws ValueError for options out of range.
    TrainLoop(Optimizer& optimizer, TrainOptions options, TrainCallbacks callbacks);
    TrainLoop(const TrainLoop&) = delete;
    TrainLoop& operator=(const TrainLoop&) = delete;

    /// Steps taken.
    std::int64_t steps() const { return steps_; }
    bool is_finished() const { return steps_ >= options_.steps; }

    /// Takes the next step and the evaluation that is due after it; callbacks.report is not called.
    StepMetrics next();

    TrainStep& step() { return step_; }

private:
    void ended(StepPhase phase);

    TrainOptions options_;
    TrainCallbacks callbacks_;
    TrainStep step_;
    std::int64_t steps_;
    double callback_seconds_ = 0;  // of this step's before_update
    Clock::time_point start_;      // of the first
};

}  // namespace tapestry
