// Internal to Tapestry. Pictures of numbers, as SVG: the library's plots, grids of coloured cells
// (heat_map.cpp), and the values of seeds (seeds_figure.cpp).
#pragma once

#include <tapestry/core/text/plot.h>
#include <tapestry/examples/school/experiments/experiment.h>
#include <tapestry/nn/metrics/interval.h>

#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace tapestry::experiments {

using pictures::Axis;
using pictures::Mark;
using pictures::Plot;
using pictures::Series;
using pictures::svg;

/// Appends a mean over seeds with its interval.
inline void add_point(Series& series, double x, const Interval& y) {
    series.x.push_back(x);
    series.y.push_back(y.mean);
    series.error.push_back(y.half_width());
}

/// The intervals of about eight of a curve's points, as Series::error; more would hide it.
inline std::vector<double> some_of(const std::vector<double>& half_widths) {
    std::vector<double> some(half_widths.size(), std::numeric_limits<double>::quiet_NaN());
    const std::size_t apart = some.size() / 8 + 1;
    for (std::size_t i = apart / 2; i < some.size(); i += apart) some[i] = half_widths[i];
    return some;
}

/// The mean over the seeds of a trial's curve, its values at `first`, `first` + 1, ..., with the
/// intervals of some of them.
inline Series curve_of(const Outcomes& outcomes, const std::string& trial, const std::string& curve,
                       double first = 1) {
    const Curve& all = outcomes.curve(trial, curve);
    Series series{.name = trial, .y = all.mean, .error = some_of(all.half_width)};
    for (std::size_t i = 0; i < all.mean.size(); ++i) {
        series.x.push_back(first + static_cast<double>(i));
    }
    return series;
}

/// The same of a curve of logarithms, as the numbers themselves: what is drawn on a logarithmic
/// axis is the geometric mean, and the interval of the logarithms, which has the same length on
/// both of its sides there.
inline Series exp_of(Series logs) {
    for (std::size_t i = 0; i < logs.y.size(); ++i) {
        const double mean = logs.y[i], half = logs.error[i];
        logs.y[i] = std::exp(mean);
        logs.error[i] = logs.y[i] - std::exp(mean - half);
        logs.error_above.push_back(std::exp(mean + half) - logs.y[i]);
    }
    return logs;
}

struct HeatMap {
    std::string title = {};
    std::string x_label = {};
    std::string y_label = {};
    std::vector<std::string> columns = {};
    std::vector<std::string> rows = {};
    std::vector<std::vector<double>> values = {};  ///< [rows][columns]; deep: far from 0
    /// Half the width of each value's interval, written below it; empty: no intervals.
    std::vector<std::vector<double>> half_widths = {};
    bool numbers = true;  ///< written into the cells
};

/// Throws ValueError for a map of nothing and for a grid whose names do not fit its values.
std::string svg(const HeatMap& map);

/// The figure "seeds": for each claim that values of seeds decide, these values, their interval and
/// the rule (seeds_figure.cpp); none if there is no such claim.
std::optional<Figure> seeds_figure(const Experiment& experiment, const Report& report);

}  // namespace tapestry::experiments
