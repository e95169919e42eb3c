// A run's numbers in bounded memory. TrainingCurve: one per step. A run of a hundred
// thousand steps is seen on a screen of a thousand pixels, so neighbouring steps share a point,
// which knows their mean and how far they spread. Spikes: steps at which loss or gradient norm
// stands out. Read next: nn/pages/report.h, which shows both.
#pragma once

#include <tapestry/nn/inspect/step_metrics.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tapestry {

/// The steps `first` to `last`, as far as they were added.
struct TrainingPoint {
    std::int64_t first = 0;
    std::int64_t last = 0;
    std::int64_t count = 0;
    double mean = 0;
    double low = 0;   ///< the least of them
    double high = 0;  ///< the greatest
};

/// At most `most` points, of equally many values each (the latest may have fewer): when there are
/// more, every two neighbours become one. So there are never fewer than most / 2 once there were as
/// many, every value counts in exactly one point, and adding one takes constant time on the
/// average.
class TrainingCurve {
public:
    static constexpr std::size_t kMost = 1024;

    /// Throws ValueError unless `most` is even and at least 2.
    explicit TrainingCurve(std::size_t most = kMost);

    /// Steps ascend. A value that is not finite is left out: no axis has a place for it.
    void add(std::int64_t step, double value);

    std::span<const TrainingPoint> points() const { return points_; }

private:
    void halve();

    std::size_t most_;
    std::int64_t width_ = 1;  // values per point
    std::vector<TrainingPoint> points_;
};

// ---- spikes -------------------------------------------------------------------------------------

// Those to look at first. Told step by step, in room that does not grow.

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
