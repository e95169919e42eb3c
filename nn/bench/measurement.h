// How long something takes, and what that is worth: the clock of the benchmarks, and one row of
// what they find. Read next: ops.h, the plainest of them; docs/profiling.md.
#pragma once

#include <tapestry/autograd/profile/roofline.h>

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace tapestry::bench {

/// How long something took, of several times.
struct Times {
    double median = 0;  ///< seconds that half of them took at most
    double min = 0;     ///< shortest, in seconds
    double p95 = 0;     ///< 95 of 100 take no longer
};

/// Of at least one.
Times times_of(std::vector<double> seconds);

/// Seconds that f takes.
double seconds_of(const std::function<void()>& f);

/// Calls f, which returns the seconds that count, once for nothing and then for about `budget`
/// seconds, five times at least.
Times repeated(double budget, const std::function<double()>& f);

/// The same where all of f counts.
Times timed(double budget, const std::function<void()>& f);

/// What it was, how long it took, and how much work it is at least.
struct Measurement {
    std::string what;            ///< "forward and backward"
    Times times = {};            ///< seconds that it took
    double flops = 0;            ///< floating-point operations
    double bytes = 0;            ///< read or written, each number once
    std::size_t peak_bytes = 0;  ///< of memory
    bool backward = false;       ///< of `what`, which was measured before

    /// How much of the peak: the least time over the median.
    double of_peak(const MachinePeak& peak) const;
    /// FLOP/s when it was fastest.
    double fastest_flops() const { return times.min > 0 ? flops / times.min : 0; }
};

/// Told of every row of a table when it is measured, which may take a while. May be empty.
using Told = std::function<void(const Measurement&)>;

// ---- the peak -----------------------------------------------------------------------------------

// Is the peak to be believed that everything is measured against? Others use the machine, too, and
// what they take while it is measured makes all look nearer to it. So it is measured again
// afterwards.

/// The machine's peak before and after a benchmark, to see whether it stayed.
struct PeakCheck {
    MachinePeak peak;    ///< as measured before; of arithmetic's two rates the better one
    double before = 0;   ///< FLOP/s
    double after = 0;    ///< FLOP/s
    double fastest = 0;  ///< FLOP/s of the fastest thing in between; 0 if that is not known

    /// What makes it doubtful, in a line: that the two differ by more than a twentieth, or that
    /// something measured was faster than either. Empty if nothing does.
    std::string doubt() const;
};

/// Measures again, with as many threads and the same instruction set.
PeakCheck check_peak(const MachinePeak& before, double fastest = 0);

}  // namespace tapestry::bench
