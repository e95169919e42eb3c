// A tensor summarised in a few numbers, for the pages.
#pragma once

#include <tapestry/core/tensor.h>

#include <vector>

namespace tapestry {

/// Over all elements, in f64; i64 and bool are converted. Extremes, mean and deviation are over the
/// finite elements, and 0 if there are none.
struct ValueStatistics {
    std::int64_t count = 0;                ///< number of elements
    std::int64_t zeros = 0;                ///< elements equal to 0
    std::int64_t nans = 0;                 ///< elements that are NaN
    std::int64_t infinities = 0;           ///< of both signs
    std::int64_t negative_infinities = 0;  ///< of these, the negative ones
    double min = 0;                        ///< smallest finite element
    double max = 0;                        ///< largest finite element
    double mean = 0;                       ///< mean of the finite elements
    double deviation = 0;                  ///< sqrt(mean of (x - mean)^2)

    double rms() const;  ///< sqrt(mean of x^2)
};

/// Summarises x, of any dtype; an undefined x has count 0.
ValueStatistics statistics_of(const Tensor& x);

/// counts[i]: elements with 2^(first + i) <= |x| < 2^(first + i + 1). Omits empty bins at both
/// ends; zeros, NaN and infinities are in no bin.
struct Log2Histogram {
    int first = 0;                     ///< exponent of the first bin
    std::vector<std::int64_t> counts;  ///< per bin
};

/// Counts the elements of x by their magnitude; x as in statistics_of().
Log2Histogram log2_histogram(const Tensor& x);

}  // namespace tapestry
