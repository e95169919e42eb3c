// Conclusions from a run's losses: EarlyStopping ends a run when held-out data has stopped gaining
// from it, LossWatch says at the end whether it has learned something.
//
//     EarlyStopping stop(model, {.patience = 5});
//     train(optimizer, {.eval_every = 100},
//           {.loss = loss, .evaluate = evaluate, .report = std::ref(stop)});
//     stop.restore_best();
//
// Read next: loop.h, which calls EarlyStopping; training_run.h, which asks LossWatch.
#pragma once

#include <tapestry/nn/inspect/step_metrics.h>
#include <tapestry/nn/module/module.h>
#include <tapestry/nn/train/training_config.h>

#include <limits>
#include <optional>
#include <string>

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

// ---- whether a run has learned something --------------------------------------------------------

class LossWatch {
public:
    /// Of a configuration whose vocabulary is known: Session::config().
    explicit LossWatch(const TrainingConfig& config);

    /// After each step.
    void add(const StepMetrics& metrics);

    /// Why what was learned may be of no use, with numbers and what may help, in one line: the loss
    /// (on held-out text, if that was looked at) is above ln(vocabulary), or the training's own
    /// rose again by more than a quarter of what it had gained on that. Empty: neither.
    std::string concern() const;

private:
    bool has_fallen() const;
    bool has_risen() const;
    std::string remedy() const;

    std::int64_t vocab_, steps_, warmup_;
    double lr_;
    double guessing_;      // ln(vocabulary)
    std::int64_t window_;  // steps whose losses count in the mean
    std::int64_t seen_ = 0;
    double mean_ = 0;                                          // of about the last `window_` losses
    double lowest_ = std::numeric_limits<double>::infinity();  // that it has been,
    std::int64_t lowest_step_ = 0;                             // and when
    std::optional<double> val_loss_;                           // the latest
};

}  // namespace tapestry
