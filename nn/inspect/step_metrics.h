// The numbers of a run: of a step when it is over, how fast the steps are, and what each
// process that shares the training has done. Read next: nn/train/loop.h, which fills in
// StepMetrics; nn/train/session.h, which counts for ProcessAccount; nn/pages/report.h, which draws
// them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace tapestry {

/// What one step did.
struct StepMetrics {
    std::int64_t step = 0;                ///< 1 after the first
    double loss = 0;                      ///< mean over the step's batches, before the update
    std::optional<double> val_loss = {};  ///< after the update, where evaluated
    double lr = 0;
    double grad_norm = 0;     ///< before clipping
    double seconds = 0;       ///< since the loop began, evaluations included
    double step_seconds = 0;  ///< of this step, evaluation and other callbacks excluded
    /// Checksum of the gradients before clipping (checksum_of_gradients); empty: not taken.
    std::string grad_xxh3 = {};
};

/// How fast a training goes: tokens per second, how much of the machine's peak, time that is left.
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

/// What one of the processes that share a training has done, and what that took.
struct ProcessAccount {
    std::string host = {};
    double threads = 0;
    double tokens = 0;         ///< whose gradients it has computed
    double flops = 0;          ///< of these gradients' products (step_flops)
    double seconds = 0;        ///< since its first step began
    double waiting = 0;        ///< seconds of these that it sat in messages
    double travel = 0;         ///< seconds in which gradients were under way
    double travel_waited = 0;  ///< of these: it sat and waited; the rest the backward pass hid
    double bytes_sent = 0;     ///< in all
    double moment_bytes = 0;   ///< what the optimiser's moments take there

    double tokens_per_second() const { return seconds > 0 ? tokens / seconds : 0; }
    /// Of the time.
    double waiting_share() const { return seconds > 0 ? waiting / seconds : 0; }
    /// Of the gradients' time under way.
    double hidden_share() const { return travel > 0 ? 1 - travel_waited / travel : 0; }
};

}  // namespace tapestry
