// The training loop: steps, a learning-rate schedule, and periodic evaluation on held-out data.
// Read next: train_step.h, what a step is; session.h, a whole run.
#pragma once

#include <tapestry/core/clock.h>
#include <tapestry/nn/inspect/step_metrics.h>
#include <tapestry/nn/optim/schedule.h>
#include <tapestry/nn/train/train_step.h>

#include <chrono>
#include <functional>
#include <optional>

namespace tapestry {

/// How to train.
struct TrainOptions {
    std::int64_t steps = 2000;       ///< steps in all
    std::int64_t accumulate = 1;     ///< batches whose gradients are averaged per step
    std::int64_t micro_batches = 1;  ///< micro-batches per batch, summed in a tree (gradient_sum.h)
    double clip = 1;                 ///< largest global norm of the gradient; 0 for none
    Schedule schedule = constant_schedule(1e-3);  ///< learning rate of every step
    std::int64_t eval_every = 0;  ///< steps between evaluations, and one at the end; 0 for none
    std::int64_t first_step = 0;  ///< steps of this run taken before
    double first_seconds = 0;     ///< their duration
    Communicator* communicator = nullptr;  ///< TrainStepOptions::communicator
    bool plan = planning_enabled();        ///< TrainStepOptions::plan
    /// Time limit, evaluations included; 0: none, only `steps`. The loop ends so that the last
    /// evaluation still fits. Needs timed_schedule.
    double seconds = 0;
    TimedSchedule timed_schedule = {};  ///< learning rate, with a time limit
    /// Duration of an evaluation in steps, until one was measured.
    double evaluation_steps = 0;
    /// With a time limit: StepMetrics::progress of a step, counted from 0, as it was recorded.
    /// Empty: measured.
    std::function<double(std::int64_t step)> progress = {};

    /// Whether an evaluation follows this step; the first step is 1.
    bool evaluates_after(std::int64_t step) const {
        return eval_every > 0 && (step % eval_every == 0 || step == steps);
    }
};

/// What train() calls.
struct TrainCallbacks {
    /// Computes the loss of the next batch, or of its next micro-batch, from the model. Called
    /// while a tape records.
    BatchLoss loss;
    /// The loss on held-out data; called without a tape. May be empty.
    std::function<double()> evaluate;
    /// Called with the step number when its gradients are complete, before clipping and the update;
    /// not included in the step's seconds. May be empty.
    std::function<void(std::int64_t)> before_update = {};
    /// Called after each step while its gradients are still in place; return false to stop
    /// training. May be empty.
    std::function<bool(const StepMetrics&)> report;
};

/// Takes the steps. Returns the number of steps taken, including earlier ones. Throws ValueError
/// for options out of range, and DivergedError when a loss or gradient is not finite (the
/// parameters are then those of the last good step).
std::int64_t train(Optimizer& optimizer, const TrainOptions& options,
                   const TrainCallbacks& callbacks);

/// The same, one step at a time, for your own loop.
class TrainLoop {
public:
    /// The optimiser must outlive the loop. Throws ValueError for options out of range.
    TrainLoop(Optimizer& optimizer, TrainOptions options, TrainCallbacks callbacks);
    TrainLoop(const TrainLoop&) = delete;
    TrainLoop& operator=(const TrainLoop&) = delete;

    /// Steps taken.
    std::int64_t steps() const { return steps_; }
    /// Whether all steps have been taken.
    bool is_finished() const { return steps_ >= options_.steps; }
    /// Whether this step, counted from 1, is the last. With a time limit, known when it begins.
    bool is_last(std::int64_t step) const { return step == options_.steps; }
    /// Whether an evaluation follows this step.
    bool evaluates_after(std::int64_t step) const { return options_.evaluates_after(step); }

    /// Takes the next step and any evaluation due after it; does not call callbacks.report.
    StepMetrics next();

    TrainStep& step() { return step_; }  ///< the step itself

private:
    void ended(StepPhase phase);
    double measured_progress(Clock::time_point now) const;
    double next_rate(Clock::time_point now, std::optional<double>& progress);

    TrainOptions options_;
    TrainCallbacks callbacks_;
    TrainStep step_;
    std::int64_t steps_;
    double callback_seconds_ = 0;               // of this step's before_update
    Clock::time_point start_;                   // when the first step began
    double recent_seconds_ = 0;                 // of a step, a running mean
    std::optional<double> evaluation_seconds_;  // of the latest evaluation
};

}  // namespace tapestry
