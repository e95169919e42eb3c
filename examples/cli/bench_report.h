// Times, and what they are worth: the clock of `tapestry bench` and `tapestry profile`, and the
// report that holds each time against the machine's peak (docs/profiling.md).
#pragma once

#include <tapestry/autograd/profile/roofline.h>
#include <tapestry/core/dtype.h>

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace tapestry::cli {

/// How long something took, of several times.
struct Times {
    double median = 0;
    double min = 0;
};

Times times_of(std::vector<double> seconds);

/// Calls f, which returns the seconds that count, once for nothing and then for about `budget`
/// seconds, five times at least.
Times repeated(double budget, const std::function<double()>& f);

/// The same where all of f counts.
Times timed(double budget, const std::function<void()>& f);

/// Seconds that f takes.
double seconds_of(const std::function<void()>& f);

/// "peak: 519.8 GFLOP/s in f32 (avx512, 2 threads); 183 GB/s in 0.5 MB, ..., 41 GB/s in 134.2
/// MB"
std::string peak_text(const MachinePeak& peak, DType dtype);
/// The same as a JSON object.
std::string peak_json(const MachinePeak& peak, DType dtype);

/// "87%"; "-" where there is no share to speak of.
std::string percent(double share);

/// One row: what it was, how long it took, and how much work it is at least.
struct Measurement {
    std::string what;
    Times times;
    double flops = 0;
    double bytes = 0;
    std::size_t peak_bytes = 0;  ///< of memory

    /// The floor over the median.
    double share(const MachinePeak& peak) const;
};

/// The columns of measurement_text.
std::string measurement_head();
std::string measurement_text(const Measurement& m, const MachinePeak& peak);
/// A JSON object.
std::string measurement_json(const Measurement& m, const MachinePeak& peak);

}  // namespace tapestry::cli
