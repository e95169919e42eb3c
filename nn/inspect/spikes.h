// Steps at which a training's loss or gradient norm stands out: those to look at first. Told step
// by step, in room that does not grow. Read next: nn/pages/report.h, which lists them.
#pragma once

#include <tapestry/nn/inspect/step_metrics.h>

#include <cstdint>
#include <string>
#include <vector>

namespace tapestry {

/// One number that stood out.
struct Spike {
    std::int64_t step = 0;
    std::string what = {};  ///< "loss" or "grad_norm"
    double value = 0;
    double mean = 0;        ///< of the steps before, as RunningMean has it
    double deviations = 0;  ///< that the value lies above it
};

/// Mean and deviation of the latest numbers, those far back counting less and less: after n numbers
/// the next has weight a = max(1 / (n + 1), 1 / kWindow), and
///     d = x - mean,   mean += a d,   variance = (1 - a) (variance + a d^2).
class RunningMean {
public:
    static constexpr double kWindow = 50;
    /// What stands this many deviations above the mean is a spike, and moves mean and deviation no
    /// more than a number there would.
    static constexpr double kDeviations = 5;

    /// The deviations by which x lies above the mean; 0 while fewer than kWindow numbers were
    /// added.
    double deviations(double x) const;
    /// Numbers that are not finite are left out.
    void add(double x);
    double mean() const { return mean_; }

private:
    std::int64_t count_ = 0;
    double mean_ = 0, variance_ = 0;
};

class Spikes {
public:
    static constexpr std::size_t kMost = 8;

    void add(const StepMetrics& metrics);
    /// The largest, at most kMost, by ascending steps.
    const std::vector<Spike>& all() const { return all_; }

private:
    void add(const Spike& spike);

    RunningMean loss_, grad_norm_;
    std::vector<Spike> all_;
};

}  // namespace tapestry
