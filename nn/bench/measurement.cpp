#include <tapestry/nn/bench/measurement.h>

#include <tapestry/core/clock.h>
#include <tapestry/ops/machine_peak.h>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace tapestry::bench {
Times times_of(std::vector<double> seconds) {
    std::sort(seconds.begin(), seconds.end());
    const std::size_t n = seconds.size();
    return {
        .median = seconds[n / 2], .min = seconds.front(), .p95 = seconds[(95 * n + 99) / 100 - 1]};
}

double seconds_of(const std::function<void()>& f) {
    const auto start = Clock::now();
    f();
    return seconds_since(start);
}

Times repeated(double budget, const std::function<double()>& f) {
    constexpr std::size_t kLeast = 5;
    std::vector<double> seconds;
    f();
    const auto start = Clock::now();
    while (seconds.size() < kLeast || seconds_since(start) < budget) seconds.push_back(f());
    return times_of(std::move(seconds));
}

Times timed(double budget, const std::function<void()>& f) {
    return repeated(budget, [&f] { return seconds_of(f); });
}

double Measurement::of_peak(const MachinePeak& peak) const {
    return peak.least_seconds(flops, bytes) / times.median;
}

std::string PeakCheck::doubt() const {
    const double most = std::max(before, after);
    if (fastest > 1.01 * most) {
        return fmt::format(
            "doubtful: something ran at {:.1f} GFLOP/s, but the peak was measured as {:.1f} before "
            "and {:.1f} after; other programs interfered",
            fastest / 1e9, before / 1e9, after / 1e9);
    }
    if (std::min(before, after) < 0.95 * most) {
        return fmt::format(
            "doubtful: the peak was {:.1f} GFLOP/s before and {:.1f} after; the machine changed "
            "its clock, or other programs ran",
            before / 1e9, after / 1e9);
    }
    return {};
}

PeakCheck check_peak(const MachinePeak& before, double fastest) {
    PeakCheck check{.peak = before,
                    .before = before.flops_per_second,
                    .after = measure_flops(before.dtype),
                    .fastest = fastest};
    check.peak.flops_per_second = std::max(check.before, check.after);
    return check;
}

}  // namespace tapestry::bench
