#include <tapestry/nn/bench/measurement.h>

#include <tapestry/core/clock.h>

#include <algorithm>
#include <chrono>

namespace tapestry::bench {
namespace {}  // namespace

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

}  // namespace tapestry::bench
