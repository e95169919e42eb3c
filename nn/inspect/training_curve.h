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
    double square = 0;       ///< mean of (value - mean)^2
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

    /// Steps must ascend. A value that is not finite is in no point, because no axis can show it,
    /// but in not_finite().
    void add(std::int64_t step, double value);

    std::span<const TrainingPoint> points() const { return points_; }  ///< in the order of steps
    const StepValue& latest() const { return latest_; }                ///< of the finite values
    const StepValue& lowest() const { return lowest_; }                ///< of the finite values
    /// The first kMostNotFinite values that are not finite, in the order of steps.
    const std::vector<StepValue>& not_finite() const { return not_finite_; }
    static constexpr std::size_t kMostNotFinite = 32;  ///< number of them kept

private:
    void halve();

    std::size_t most_;
    std::int64_t width_ = 1;  // values per point
    std::vector<TrainingPoint> points_;
    StepValue latest_, lowest_;
    std::vector<StepValue> not_finite_;
};

// ---- spikes -------------------------------------------------------------------------------------

// Steps to look at first. Found step by step, in constant memory.

/// A value that stands out.
struct Spike {
    std::int64_t step = 0;  ///< step with the value
    std::string what = {};  ///< "loss" or "grad_norm"
    double value = 0;       ///< the value itself
    double mean = 0;        ///< of the steps before, from RunningMean
    double deviations = 0;  ///< standard deviations above it; early: the factor, or infinity
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

    /// Before kWindow numbers were added, a deviation is not known: then a value this many times
    /// the mean of the numbers so far is a spike.
    static constexpr double kEarlyFactor = 10;

    /// Number of deviations by which x exceeds the mean; 0 until kWindow numbers were added, and if
    /// they are all equal.
    double deviations(double x) const;
    /// Whether x stands out: by its deviations, or early by kEarlyFactor.
    bool is_spike(double x) const;
    /// Whether kWindow numbers have not been added yet.
    bool is_early() const { return static_cast<double>(count_) < kWindow; }
    /// Ignores numbers that are not finite.
    void add(double x);
    double mean() const { return mean_; }  ///< of the numbers so far

private:
    std::int64_t count_ = 0;
    double mean_ = 0, variance_ = 0;
};

/// The steps whose loss or gradient norm stands out most. The first early one is always kept: in a
/// run that explodes, all that follow are larger.
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
    bool has_early_ = false;
    std::vector<Spike> all_;
};

}  // namespace tapestry
