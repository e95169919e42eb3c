// What several seeds say of one number: its mean, and where the true mean lies with 95 %
// confidence. Read next: claim.h, what is made of it.
#pragma once

#include <cstdint>
#include <vector>

namespace tapestry::experiments {

struct Interval {
    double mean = 0;
    double low = 0, high = 0;  ///< equal to the mean where nothing is random
    std::int64_t count = 0;    ///< how many values it rests on; 0: computed exactly, without a draw

    double half_width() const { return (high - low) / 2; }
    bool operator==(const Interval&) const = default;
};

/// Student's interval: mean +- t s / sqrt(n) with the t of n - 1 degrees of freedom. Right if the
/// values are roughly normal. One value has an infinite interval, for it says nothing of its
/// spread. Throws ValueError for none.
Interval student(const std::vector<double>& values);

/// Wilson's interval for a share, of which Student's says too much when all cases agree: of 10
/// cases out of 10 it says 72 % at least. Throws ValueError unless 0 <= hits <= cases and cases >
/// 0.
Interval share(std::int64_t hits, std::int64_t cases);

/// A number that no seed changes.
Interval exactly(double value);

/// One that was not measured, as in a short form; no rule holds for it, and none is broken.
Interval unmeasured();

/// a_i - b_i and a_i / b_i: with the same seed on both sides, what the seeds have in common
/// cancels. Throws ValueError unless there are as many of each.
std::vector<double> differences(const std::vector<double>& a, const std::vector<double>& b);
std::vector<double> ratios(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace tapestry::experiments
