// A tensor in a few numbers: what a page shows of values and gradients it has no room for.
#pragma once

#include <tapestry/core/tensor.h>

#include <vector>

namespace tapestry {

/// Over all elements, in f64; i64 and bool are taken as numbers. Extremes, mean and deviation are
/// of the finite elements, and 0 where there are none.
struct ValueStatistics {
    std::int64_t count = 0;
    std::int64_t zeros = 0;
    std::int64_t nans = 0;
    std::int64_t infinities = 0;           ///< of both signs
    std::int64_t negative_infinities = 0;  ///< those of them that are below
    double min = 0;
    double max = 0;
    double mean = 0;
    double deviation = 0;  ///< sqrt(mean of (x - mean)^2)

    double rms() const;  ///< sqrt(mean of x^2)
};

ValueStatistics statistics_of(const Tensor& x);

/// counts[i]: elements with 2^(first + i) <= |x| < 2^(first + i + 1). Empty bins at both ends are
/// left out; zeros, NaN and infinities are in no bin.
struct Log2Histogram {
    int first = 0;
    std::vector<std::int64_t> counts;
};

Log2Histogram log2_histogram(const Tensor& x);

}  // namespace tapestry
