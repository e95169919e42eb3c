// Timing and rating: the clock of the benchmarks, and a row of their results. Read next: ops.h, the
// simplest of them; docs/profiling.md.
#pragma once

#include <tapestry/autograd/profile/roofline.h>

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace tapestry::bench {

/// Statistics of repeated timings.
struct Times {
    double median = 0;  ///< seconds that half of them took at most
    double min = 0;     ///< shortest, in seconds
    double p95 = 0;     ///< 95 of 100 take no longer
};

/// Needs at least one value.
Times times_of(std::vector<double> seconds);

/// Runs f and returns the seconds it took.
double seconds_of(const std::function<void()>& f);

/// Calls f, which returns the seconds to count, once as a warm-up and then for about `budget`
/// seconds, at least five times.
Times repeated(double budget, const std::function<double()>& f);

/// The same, counting all of f.
Times timed(double budget, const std::function<void()>& f);

/// One measurement: what ran, how long it took, and the work it needs at least.
struct Measurement {
    std::string what;            ///< "forward and backward"
    Times times = {};            ///< seconds that it took
    double flops = 0;            ///< floating-point operations
    double bytes = 0;            ///< read or written, each number once
    std::size_t peak_bytes = 0;  ///< of memory
    bool backward = false;       ///< the backward of the previous row's `what`

    /// Share of the peak: the least possible time divided by the median.
    double of_peak(const MachinePeak& peak) const;
    /// FLOP/s of the fastest repetition.
    double fastest_flops() const { return times.min > 0 ? flops / times.min : 0; }
};

/// Called with every row as soon as it is measured. May be empty.
using Told = std::function<void(const Measurement&)>;

// ---- the peak -----------------------------------------------------------------------------------

// Can the peak be trusted that everything is compared with? If other programs used the machine
// while it was measured, everything looks closer to it. So it is measured again afterwards.

/// The machine's peak before and after a benchmark, to see whether it stayed.
struct PeakCheck {
    MachinePeak peak;    ///< as measured before; of arithmetic's two rates the better one
    double before = 0;   ///< FLOP/s
    double after = 0;    ///< FLOP/s
    double fastest = 0;  ///< FLOP/s of the fastest thing in between; 0 if that is not known

    /// A line on why the peak is doubtful: the two differ by more than 5%, or something measured
    /// was faster than either. Empty if neither is true.
    std::string doubt() const;
};

/// Measures again, with the same number of threads and instruction set.
PeakCheck check_peak(const MachinePeak& before, double fastest = 0);

}  // namespace tapestry::bench
