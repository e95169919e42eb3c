#include <tapestry/nn/bench/peak_check.h>

#include <tapestry/ops/machine_peak.h>

#include <fmt/format.h>

#include <algorithm>

namespace tapestry::bench {

std::string PeakCheck::doubt() const {
    const double most = std::max(before, after);
    if (fastest > 1.01 * most) {
        return fmt::format(
            "doubtful: something ran at {:.1f} GFLOP/s, and the peak was measured as {:.1f} before "
            "and {:.1f} after; other programs were in its way",
            fastest / 1e9, before / 1e9, after / 1e9);
    }
    if (std::min(before, after) < 0.95 * most) {
        return fmt::format(
            "doubtful: the peak was {:.1f} GFLOP/s before and {:.1f} after; the machine changed "
            "its clock, or others use it",
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
