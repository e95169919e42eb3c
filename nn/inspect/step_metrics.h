// A run's numbers: results of a step, speed, and what each process has done. Read next:
// nn/train/loop.h, which fills in StepMetrics; nn/train/session.h, which counts for ProcessAccount;
// nn/pages/report.h, which draws them.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>

namespace tapestry {

/// A value and its step; step 0: there is none.
struct StepValue {
    std::int64_t step = 0;  ///< counted from 1
    double value = NAN;     ///< at that step
};

/// Results of one step.
struct StepMetrics {
    std::int64_t step = 0;                ///< counted from 1
    double loss = 0;                      ///< mean over the step's batches, before the update
    std::optional<double> val_loss = {};  ///< after the update, if evaluated
    double lr = 0;                        ///< learning rate of the update
    double grad_norm = 0;                 ///< before clipping
    double seconds = 0;                   ///< since the loop began, evaluations included
    double step_seconds = 0;  ///< of this step, excluding evaluation and other callbacks
    /// Checksum of the gradients before clipping (checksum_of_gradients); empty if not computed.
    std::string grad_xxh3 = {};
    /// In a run limited by time: the share of it that had passed when the step began; 1: the last.
    std::optional<double> progress = {};
};

/// Training speed: tokens per second, and fraction of the machine's peak.
class Speed {
public:
    /// `tokens` per step; `least`: lower bound on the seconds of its arithmetic.
    Speed(std::int64_t tokens, double least)
        : tokens_(static_cast<double>(tokens)), least_(least) {}

    /// Call after each step.
    void add(const StepMetrics& metrics) {
        const double seconds = metrics.step_seconds;
        recent_ = steps_ == 0 ? seconds : 0.95 * recent_ + 0.05 * seconds;
        total_ += seconds;
        ++steps_;
    }

    /// All processes together, over recent steps, evaluations excluded.
    double tokens_per_second() const { return recent_ > 0 ? tokens_ / recent_ : 0; }
    /// Over recent steps, evaluations excluded.
    double seconds_per_step() const { return recent_; }
    /// Fraction of the machine's peak: 1 if only arithmetic took time.
    double of_peak() const { return recent_ > 0 ? least_ / recent_ : 0; }

    /// Total of the steps added.
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

/// Work and time of one of the processes that share a run.
struct ProcessAccount {
    std::string host = {};     ///< machine that it runs on
    double threads = 0;        ///< threads that it uses
    double tokens = 0;         ///< whose gradients it has computed, or rows, examples: Task::unit()
    double flops = 0;          ///< of the products for these gradients (step_flops)
    double seconds = 0;        ///< since its first step began
    double waiting = 0;        ///< of these, seconds blocked on messages
    double travel = 0;         ///< seconds in which gradients were in flight
    double travel_waited = 0;  ///< of these, blocked; the rest overlapped with the backward pass
    double bytes_sent = 0;     ///< total
    double moment_bytes = 0;   ///< bytes of its optimiser moments

    /// Its own speed since its first step.
    double tokens_per_second() const { return seconds > 0 ? tokens / seconds : 0; }
    /// Fraction of the time.
    double waiting_share() const { return seconds > 0 ? waiting / seconds : 0; }
    /// Fraction of the gradients' time in flight.
    double hidden_share() const { return travel > 0 ? 1 - travel_waited / travel : 0; }
};

}  // namespace tapestry
