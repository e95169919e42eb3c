// A run's numbers in bounded memory. TrainingCurve: one number per step. A screen has a thousand
// pixels for a run of a hundred thousand steps, so neighbouring steps share a point with their mean
// and spread. Spikes: steps at which the loss or gradient norm stands out. Read next:
// nn/pages/report.h, which shows both.
#pragma once

#include <tapestry/nn/inspect/step_metrics.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tapestry {

/// The steps `first` to `last` that were added.
struct TrainingPoint {
    std::int64_t first = 0;  ///< first step
    std::int64_t last = 0;   ///< last step
    std::int64_t count = 0;  ///< values in it
    double mean = 0;         ///< their mean
    double low = 0;          ///< smallest value
    double high = 0;         ///< largest value
};

/// At most `most` points of equally many values each (the latest may have fewer): when there would
/// be more, pairs of neighbours are merged. So there are at least most / 2 points once that many
/// were reached, every value is in exactly one point, and adding one takes constant time on
/// average.
class TrainingCurve {
public:
    static constexpr std::size_t kMost = 1024;  ///< number of points by default

    /// Throws ValueError unless `most` is even and at least 2.
    explicit TrainingCurve(std::size_t most = kMost);

    /// Steps must ascend. Ignores a value that is not finite, which no axis can show.
    void add(std::int64_t step, double value);

    std::span<const TrainingPoint> points() const { return points_; }  ///< in the order of steps

private:
    void halve();

    std::size_t most_;
    std::int64_t width_ = 1;  // values per point
    std::vector<TrainingPoint> points_;
};

// ---- spikes -------------------------------------------------------------------------------------

// Steps to look at first. Found step by step, in constant memory.

/// A value that stands out.
struct Spike {
    std::int64_t step = 0;  ///< step with the value
    std::string what = {};  ///< "loss" or "grad_norm"
    double value = 0;       ///< the value itself
    double mean = 0;        ///< of the steps before, from RunningMean
    double deviations = 0;  ///< number of standard deviations above it
};

/// Exponentially weighted mean and deviation: after n numbers the next has weight
/// a = max(1 / (n + 1), 1 / kWindow), and
///     d = x - mean,   mean += a d,   variance = (1 - a) (variance + a d^2).
class RunningMean {
public:
    static constexpr double kWindow = 50;  ///< number of recent values that count, roughly
    /// A value more than this many deviations above the mean is a spike, and moves mean and
    /// deviation only as much as a value at that limit.
    static constexpr double kDeviations = 5;

    /// Number of deviations by which x exceeds the mean; 0 until kWindow numbers were added, and if
    /// they are all equal.
    double deviations(double x) const;
    /// Ignores numbers that are not finite.
    void add(double x);
    double mean() const { return mean_; }  ///< of the numbers so far

private:
    std::int64_t count_ = 0;
    double mean_ = 0, variance_ = 0;
};

/// The steps whose loss or gradient norm stands out most.
class Spikes {
public:
    static constexpr std::size_t kMost = 8;  ///< number of spikes kept

    /// Call after each step, in order.
    void add(const StepMetrics& metrics);
    /// The largest, at most kMost, in the order of steps.
    const std::vector<Spike>& all() const { return all_; }

private:
    void add(const Spike& spike);

    RunningMean loss_, grad_norm_;
    std::vector<Spike> all_;
};

}  // namespace tapestry
