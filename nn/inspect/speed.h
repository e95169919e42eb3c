// How fast a training goes: tokens per second, how much of the machine's peak, time that is left.
#pragma once

#include <tapestry/nn/inspect/step_metrics.h>

namespace tapestry {

class Speed {
public:
    /// `tokens` per step; `least`: the seconds that its arithmetic takes at least.
    Speed(std::int64_t tokens, double least)
        : tokens_(static_cast<double>(tokens)), least_(least) {}

    /// After each step.
    void add(const StepMetrics& metrics) {
        const double seconds = metrics.step_seconds;
        recent_ = steps_ == 0 ? seconds : 0.95 * recent_ + 0.05 * seconds;
        total_ += seconds;
        ++steps_;
    }

    // Over the last steps, evaluations excluded.
    double tokens_per_second() const { return recent_ > 0 ? tokens_ / recent_ : 0; }
    double seconds_per_step() const { return recent_; }
    /// How much of the machine's peak: 1 if nothing took time but arithmetic.
    double of_peak() const { return recent_ > 0 ? least_ / recent_ : 0; }

    /// Of the steps it was told of.
    double tokens() const { return static_cast<double>(steps_) * tokens_; }
    /// of_peak() over all steps.
    double mean_of_peak() const {
        return total_ > 0 ? static_cast<double>(steps_) * least_ / total_ : 0;
    }

private:
    double tokens_, least_;
    double recent_ = 0;  // seconds per step, a running mean
    double total_ = 0;
    std::int64_t steps_ = 0;
};

}  // namespace tapestry
