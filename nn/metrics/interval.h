// How sure a measured number is: 95 % confidence intervals over runs with different seeds, and of
// shares. Read next: core/text/plot.h and core/text/text_table.h, to show them.
//
//     const Interval with = student_interval(losses), without = student_interval(others);
//     const Interval gain = student_interval(differences(others, losses));  // the same seeds
//     fmt::print("{}", to_text(gain));                                      // "0.0512 +- 0.0087"
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tapestry {

/// A number and its 95 % confidence interval.
struct Interval {
    double mean = 0;         ///< of the values
    double low = 0;          ///< its lower end; the mean if nothing is random
    double high = 0;         ///< its upper end
    std::int64_t count = 0;  ///< number of values; 0: computed exactly, without sampling
    bool is_share = false;   ///< Wilson's: the values are hits and misses

    double half_width() const { return (high - low) / 2; }  ///< half its length
    bool operator==(const Interval&) const = default;       ///< whether all is equal
};

/// Student's interval: mean +- t s / sqrt(n) with the t of n - 1 degrees of freedom. Valid if the
/// values are roughly normal. Infinite for a single value, which shows no spread. Throws ValueError
/// if there are no values.
Interval student_interval(const std::vector<double>& values);

/// Wilson's interval for a proportion. Student's would be too narrow when all cases agree; for 10
/// hits in 10 cases this interval starts at 72 %. Throws ValueError unless 0 <= hits <= cases and
/// cases > 0.
Interval share_interval(std::int64_t hits, std::int64_t cases);

/// 95 % of Student's distribution with `freedom` degrees of freedom, at least 1, is within +- this.
double student_quantile(std::size_t freedom);

/// a_i - b_i and a_i / b_i, paired by seed, so the variation they share cancels. Throws ValueError
/// unless a and b have the same length.
std::vector<double> differences(const std::vector<double>& a, const std::vector<double>& b);
std::vector<double> ratios(const std::vector<double>& a, const std::vector<double>& b);

/// "2.6471 +- 0.0683" with as many digits as the interval's width allows, "0.7500 (0.5310 to
/// 0.8881)" for a share.
std::string to_text(const Interval& interval);

}  // namespace tapestry
