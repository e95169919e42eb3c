// Least squares lines: the exponent of a power law or the rate of a decay in one number.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

namespace tapestry::experiments {

struct Line {
    double slope = 0;
    double intercept = 0;
};

/// The line that minimises sum_i (slope x_i + intercept - y_i)^2; needs at least two different x.
inline Line fit_line(const std::vector<double>& x, const std::vector<double>& y) {
    const auto n = static_cast<double>(x.size());
    double mean_x = 0, mean_y = 0, xx = 0, xy = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        mean_x += x[i] / n;
        mean_y += y[i] / n;
    }
    for (std::size_t i = 0; i < x.size(); ++i) {
        xx += (x[i] - mean_x) * (x[i] - mean_x);
        xy += (x[i] - mean_x) * (y[i] - mean_y);
    }
    return {xy / xx, mean_y - xy / xx * mean_x};
}

inline std::vector<double> logs(std::vector<double> values) {
    for (double& value : values) value = std::log(value);
    return values;
}

/// a in y = c x^a, by a line through the logarithms; x and y must be positive.
inline double exponent(const std::vector<double>& x, const std::vector<double>& y) {
    return fit_line(logs(x), logs(y)).slope;
}

}  // namespace tapestry::experiments
