// Judges a run by its losses: EarlyStopping ends a run when the validation loss stops improving,
// LossWatch reports at the end whether the run learned anything.
//
//     EarlyStopping stop(model, {.patience = 5});
//     train(optimizer, {.eval_every = 100},
//           {.loss = loss, .evaluate = evaluate, .report = std::ref(stop)});
//     stop.restore_best();
//
// Read next: loop.h, which calls EarlyStopping; training_run.h, which asks LossWatch.
#pragma once

#include <tapestry/nn/inspect/diagnosis.h>
#include <tapestry/nn/module/module.h>
#include <tapestry/nn/pages/report.h>
#include <tapestry/nn/train/training_config.h>

#include <limits>
#include <string>
#include <vector>

namespace tapestry {

/// When to stop.
struct EarlyStoppingOptions {
    std::int64_t patience = 5;  ///< evaluations in a row without improvement before stopping
    double min_delta = 0;       ///< minimum decrease of the loss that counts as an improvement
};

/// Usable as TrainCallbacks::report, or called from one.
class EarlyStopping {
public:
    /// Keeps a copy of the best state of `module`, which must outlive this object. Throws
    /// ValueError unless patience is positive and min_delta is finite and not negative.
    explicit EarlyStopping(Module& module, const EarlyStoppingOptions& options = {});
    EarlyStopping(const EarlyStopping&) = delete;
    EarlyStopping& operator=(const EarlyStopping&) = delete;

    /// Checks StepMetrics::val_loss, if there is one; NaN is never an improvement. Returns false
    /// once `patience` evaluations in a row brought no improvement.
    bool operator()(const StepMetrics& metrics);

    /// The smallest loss so far, infinity before the first, and the step that it followed.
    double best_loss() const { return best_loss_; }
    /// Step after which it was measured; 0 before the first.
    std::int64_t best_step() const { return best_step_; }

    /// Restores the module to its state after that step; does nothing if there is none.
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

/// Whether a run learns, by its losses.
class LossWatch {
public:
    /// `config` must have its vocabulary filled in, as Session::config() does. `expected`: of a
    /// custom task, whose first loss is compared with; without any there is no concern.
    explicit LossWatch(const TrainingConfig& config,
                       const std::vector<ExpectedLoss>& expected = {});

    /// Call after each step.
    void add(const StepMetrics& metrics) { watch_.add(metrics); }

    /// One line on why the result may be of no use, with numbers and possible remedies: the loss
    /// (on held-out text, if it was evaluated) is above that of guessing, or the training loss rose
    /// again by more than a quarter of what it had gained over that. Empty if neither holds.
    std::string concern() const;

private:
    LossWatch(const TrainingConfig& config, const ExpectedLoss& guess);

    bool has_risen() const;
    std::string remedy() const;

    std::int64_t warmup_;
    std::string guess_;  // what needs no model: "guessing one of 65 tokens"
    double lr_;
    RunWatch watch_;
};

}  // namespace tapestry
