// Learning rates over time: a function from the step (0, 1, ...) to the rate of that step.
#pragma once

#include <cstdint>
#include <functional>

namespace tapestry {

/// Step -> learning rate; the first step is 0.
using Schedule = std::function<double(std::int64_t step)>;

/// Always `rate`.
Schedule constant_schedule(double rate);

/// From `first` to `last` over `steps` steps in equal parts, then `last`.
Schedule linear_schedule(double first, double last, std::int64_t steps);

/// rate * factor^(step / every), the exponent rounded down.
Schedule step_schedule(double rate, double factor, std::int64_t every);

/// A rate that rises, then falls along a cosine.
struct WarmupCosine {
    double rate = 1e-3;         ///< at the end of the warm-up
    double min_rate = 1e-4;     ///< at the end
    std::int64_t warmup = 100;  ///< steps in which it rises
    std::int64_t steps = 2000;  ///< warm-up included
};

/// Rises in equal parts to `rate` over the warm-up (rate / warmup at step 0), then falls along half
/// a cosine to `min_rate`, and stays there. Source: Loshchilov and Hutter 2017, "SGDR".
Schedule warmup_cosine_schedule(const WarmupCosine& settings);

/// A rate that rises, stays, then falls.
struct WarmupTrapezoid {
    double rate = 1e-3;         ///< between the warm-up and the fall
    double min_rate = 1e-4;     ///< at the end
    std::int64_t warmup = 100;  ///< steps in which it rises
    std::int64_t steps = 2000;  ///< warm-up and fall included
    double cooldown = 0.4;      ///< share of the steps in which it falls
};

/// Rises in equal parts to `rate` over the warm-up, stays there, falls in equal parts to `min_rate`
/// over the last cooldown * steps (rounded down, and never before the warm-up is over), and stays.
/// Throws ValueError for a cooldown outside [0, 1], and as warmup_cosine_schedule does. Source:
/// Zhai et al. 2022, "Scaling Vision Transformers", section 3.5.
Schedule trapezoid_schedule(const WarmupTrapezoid& settings);

// ---- over time ----------------------------------------------------------------------------------

// For runs that end after some time instead of some steps. How far a step is in the run is measured
// by a clock and recorded, so a repeated step has the same rate.

/// Step and progress -> learning rate; progress is the share of the time that has passed, 0 to 1.
using TimedSchedule = std::function<double(std::int64_t step, double progress)>;

/// The warm-up in steps, times half a cosine over progress. `steps` does not matter. Throws as
/// warmup_cosine_schedule does.
TimedSchedule timed_cosine_schedule(const WarmupCosine& settings);

/// The warm-up in steps, times a rate that falls in equal parts over the last `cooldown` of
/// progress. `steps` does not matter. Throws as trapezoid_schedule does.
TimedSchedule timed_trapezoid_schedule(const WarmupTrapezoid& settings);

/// factor / sqrt(dim) * min(1 / sqrt(n), n / warmup^1.5) at step n = 1, 2, ... (step 0 is n = 1):
/// rises in equal parts over the warm-up, then falls as 1 / sqrt(n). Throws ValueError unless dim,
/// warmup and factor are positive. Source: Vaswani et al. 2017, equation 3, there with factor 1 and
/// 4000 steps of warm-up; also called Noam's.
Schedule inverse_sqrt_schedule(std::int64_t dim, std::int64_t warmup, double factor = 1);

}  // namespace tapestry
