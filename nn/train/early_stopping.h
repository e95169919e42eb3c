// Ending a training when held-out data has stopped gaining from it:
//
//     EarlyStopping stop(model, {.patience = 5});
//     train(optimizer, {.eval_every = 100}, {.loss = ..., .evaluate = ..., .report =
//     std::ref(stop)}); stop.restore_best();
//
// Read next: loop.h, which calls it.
#pragma once

#include <tapestry/nn/inspect/step_metrics.h>
#include <tapestry/nn/module/module.h>

#include <limits>

namespace tapestry {

struct EarlyStoppingOptions {
    std::int64_t patience = 5;  ///< evaluations in a row without a better one, after which it ends
    double min_delta = 0;       ///< what a loss must be smaller by to be better
};

/// What TrainCallbacks::report may be, or be called by.
class EarlyStopping {
public:
    /// Keeps a copy of the state of `module`, which must outlive this, at its best. Throws
    /// ValueError unless patience is positive and min_delta finite and not negative.
    explicit EarlyStopping(Module& module, const EarlyStoppingOptions& options = {});
    EarlyStopping(const EarlyStopping&) = delete;
    EarlyStopping& operator=(const EarlyStopping&) = delete;

    /// Looks at the losses of evaluations (StepMetrics::val_loss), which NaN never betters. False
    /// when `patience` of them were no better than the best before.
    bool operator()(const StepMetrics& metrics);

    /// The smallest loss so far, infinite before the first, and the step after which it was found.
    double best_loss() const { return best_loss_; }
    std::int64_t best_step() const { return best_step_; }

    /// Puts the module back to what it was after that step; nothing if there was none.
    void restore_best();

private:
    Module& module_;
    EarlyStoppingOptions options_;
    NamedTensors best_;
    double best_loss_ = std::numeric_limits<double>::infinity();
    std::int64_t best_step_ = 0;
    std::int64_t without_gain_ = 0;
};

}  // namespace tapestry
