#include <tapestry/nn/optim/schedule.h>

#include <tapestry/core/error.h>
#include <tapestry/core/portable_math.h>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace tapestry {
namespace {

void check_rate(const char* schedule, double rate) {
    require(rate >= 0 && std::isfinite(rate), "{}: learning rate must be finite and >= 0, got {}",
            schedule, rate);
}

}  // namespace

Schedule constant_schedule(double rate) {
    check_rate("constant_schedule", rate);
    return [rate](std::int64_t) { return rate; };
}

Schedule linear_schedule(double first, double last, std::int64_t steps) {
    check_rate("linear_schedule", first);
    check_rate("linear_schedule", last);
    require(steps > 0, "linear_schedule: steps must be positive, got {}", steps);
    return [=](std::int64_t step) {
        const double done = std::min(1.0, static_cast<double>(step) / static_cast<double>(steps));
        return first + (last - first) * done;
    };
}

Schedule step_schedule(double rate, double factor, std::int64_t every) {
    check_rate("step_schedule", rate);
    require(factor > 0 && every > 0,
            "step_schedule: factor and every must be positive, got {} and {}", factor, every);
    return [=](std::int64_t step) { return rate * std::pow(factor, step / every); };
}

Schedule warmup_cosine_schedule(const WarmupCosine& settings) {
    check_rate("warmup_cosine_schedule", settings.rate);
    check_rate("warmup_cosine_schedule", settings.min_rate);
    require(settings.warmup >= 0 && settings.steps > 0,
            "warmup_cosine_schedule: warmup must be >= 0 and steps positive, got {} and {}",
            settings.warmup, settings.steps);
    return [s = settings](std::int64_t step) {
        if (step < s.warmup) {
            return s.rate * static_cast<double>(step + 1) / static_cast<double>(s.warmup);
        }
        const auto length = static_cast<double>(std::max<std::int64_t>(1, s.steps - s.warmup));
        const double done = std::min(1.0, static_cast<double>(step - s.warmup) / length);
        const double wave = portable::cos(std::numbers::pi * done);
        return s.min_rate + 0.5 * (s.rate - s.min_rate) * (1 + wave);
    };
}

Schedule trapezoid_schedule(const WarmupTrapezoid& settings) {
    check_rate("trapezoid_schedule", settings.rate);
    check_rate("trapezoid_schedule", settings.min_rate);
    require(settings.warmup >= 0 && settings.steps > 0,
            "trapezoid_schedule: warmup must be >= 0 and steps positive, got {} and {}",
            settings.warmup, settings.steps);
    require(settings.cooldown >= 0 && settings.cooldown <= 1,
            "trapezoid_schedule: cooldown must be in [0, 1], got {}", settings.cooldown);
    const auto fall =
        static_cast<std::int64_t>(settings.cooldown * static_cast<double>(settings.steps));
    const std::int64_t begin = std::max(settings.warmup, settings.steps - fall);
    return [s = settings, begin](std::int64_t step) {
        if (step < s.warmup) {
            return s.rate * static_cast<double>(step + 1) / static_cast<double>(s.warmup);
        }
        if (step < begin) return s.rate;
        const auto length = static_cast<double>(std::max<std::int64_t>(1, s.steps - begin));
        const double done = std::min(1.0, static_cast<double>(step - begin) / length);
        return s.rate + (s.min_rate - s.rate) * done;
    };
}

namespace {

// The factor of a warm-up, which is over after `warmup` steps.
double warm(std::int64_t step, std::int64_t warmup) {
    return step < warmup ? static_cast<double>(step + 1) / static_cast<double>(warmup) : 1.0;
}

}  // namespace

TimedSchedule timed_cosine_schedule(const WarmupCosine& settings) {
    static_cast<void>(warmup_cosine_schedule(settings));  // checks them
    return [s = settings](std::int64_t step, double progress) {
        const double wave = portable::cos(std::numbers::pi * std::clamp(progress, 0.0, 1.0));
        const double rate = s.min_rate + 0.5 * (s.rate - s.min_rate) * (1 + wave);
        return warm(step, s.warmup) * rate;
    };
}

TimedSchedule timed_trapezoid_schedule(const WarmupTrapezoid& settings) {
    static_cast<void>(trapezoid_schedule(settings));  // checks them
    return [s = settings](std::int64_t step, double progress) {
        const double fallen = std::clamp(progress, 0.0, 1.0) - (1 - s.cooldown);
        const double done = fallen > 0 ? fallen / s.cooldown : 0;
        return warm(step, s.warmup) * (s.rate + (s.min_rate - s.rate) * done);
    };
}

Schedule inverse_sqrt_schedule(std::int64_t dim, std::int64_t warmup, double factor) {
    require(dim > 0 && warmup > 0 && factor > 0 && std::isfinite(factor),
            "inverse_sqrt_schedule: dim {}, warmup {} and factor {} must be positive", dim, warmup,
            factor);
    const double scale = factor / std::sqrt(static_cast<double>(dim));
    const double rise = std::pow(static_cast<double>(warmup), -1.5);
    return [scale, rise](std::int64_t step) {
        const auto n = static_cast<double>(step + 1);
        return scale * std::min(1 / std::sqrt(n), n * rise);
    };
}

}  // namespace tapestry
