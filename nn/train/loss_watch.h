// Whether a training that came to its end has learned something: its losses against what guessing
// would have, and against its own best. Read next: training_run.h, which asks.
#pragma once

#include <tapestry/nn/train/training_config.h>

#include <limits>
#include <optional>
#include <string>

namespace tapestry {

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
