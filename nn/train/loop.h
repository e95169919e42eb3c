// The training loop: gradients of a few batches added up, clipped, one step of the optimiser; now
// and then a look at data it does not train on.
#pragma once

#include <tapestry/nn/inspect/step_metrics.h>
#include <tapestry/nn/optim/optimizer.h>
#include <tapestry/nn/optim/schedule.h>

#include <functional>
#include <optional>

namespace tapestry {

struct TrainOptions {
    std::int64_t steps = 2000;
    std::int64_t accumulate = 1;  ///< batches whose gradients are averaged per step
    double clip = 1;              ///< largest global norm of the gradient; 0 for none
    Schedule schedule = constant_schedule(1e-3);
    std::int64_t eval_every = 0;  ///< steps between evaluations, and one at the end; 0 for none

    /// Is there an evaluation after this step, the first being 1?
    bool evaluates_after(std::int64_t step) const {
        return eval_every > 0 && (step % eval_every == 0 || step == steps);
    }
};

struct TrainCallbacks {
    /// The loss of the next batch, computed from the model. Called with a tape that records.
    std::function<Tensor()> loss;
    /// The loss on held-out data; called without a tape. May be empty.
    std::function<double()> evaluate;
    /// Called with the number of the step when its gradients are in place, before clipping and
    /// before the update; the step's seconds go without it. May be empty.
    std::function<void(std::int64_t)> before_update = {};
    /// Called after each step, with its gradients still in place; returning false ends the
    /// training. May be empty.
    std::function<bool(const StepMetrics&)> report;
};

/// Runs the steps. Returns how many were done. Throws ValueError for options out of range, and
/// DivergedError when a loss or gradient is not finite (the parameters are those of the last good
/// step).
std::int64_t train(Optimizer& optimizer, const TrainOptions& options,
                   const TrainCallbacks& callbacks);

/// The loss or its gradient became infinite or NaN.
class DivergedError : public Error {
public:
    using Error::Error;
};

}  // namespace tapestry
