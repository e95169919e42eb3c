// How fast a training goes: tokens per second, share of the machine's peak, time that is left.
#pragma once

#include <tapestry/nn/inspect/step_metrics.h>

namespace tapestry {

class Speed {
public:
    /// `tokens` per step; `floor`: the seconds that its arithmetic takes at least.
    Speed(std::int64_t tokens, double floor)
        : tokens_(static_cast<double>(tokens)), floor_(floor) {}

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
    /// Of the machine's peak: 1 if nothing took time but arithmetic.
    double share() const { return recent_ > 0 ? floor_ / recent_ : 0; }

    /// Of the steps it was told of.
    double tokens() const { return static_cast<double>(steps_) * tokens_; }
    /// share() over all steps.
    double mean_share() const {
        return total_ > 0 ? static_cast<double>(steps_) * floor_ / total_ : 0;
    }

private:
    double tokens_, floor_;
    double recent_ = 0;  // seconds per step, a running mean
    double total_ = 0;
    std::int64_t steps_ = 0;
};

}  // namespace tapestry
