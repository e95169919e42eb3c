// Internal to Tapestry. Pictures of numbers, as SVG: the library's plots, and grids of coloured
// cells (heat_map.cpp).
#pragma once

#include <tapestry/core/text/plot.h>
#include <tapestry/examples/school/experiments/experiment.h>
#include <tapestry/nn/metrics/interval.h>

#include <cmath>
#include <cstddef>
#include <limits>
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

/// The mean over the seeds of a trial's curve, its values at 1, 2, 3, ..., with the interval of
/// about eight of them.
inline Series curve_of(const Outcomes& outcomes, const std::string& trial,
                       const std::string& curve) {
    Series series{.name = trial, .y = outcomes.curve(trial, curve)};
    const std::size_t count = series.y.size(), apart = count / 8 + 1;
    series.error.resize(count, std::numeric_limits<double>::quiet_NaN());
    for (std::size_t i = 0; i < count; ++i) {
        series.x.push_back(static_cast<double>(i + 1));
        if ((i + apart / 2) % apart != 0) continue;
        std::vector<double> values;
        for (const Measured& seed : outcomes.seeds(trial)) {
            values.push_back(seed.curves.at(curve)[i]);
        }
        series.error[i] = student(values).half_width();
    }
    return series;
}

struct HeatMap {
    std::string title = {};
    std::string x_label = {};
    std::string y_label = {};
    std::vector<std::string> columns = {};
    std::vector<std::string> rows = {};
    std::vector<std::vector<double>> values = {};  ///< [rows][columns]; deep: far from 0
    bool numbers = true;                           ///< written into the cells
};

/// Throws ValueError for a map of nothing and for a grid whose names do not fit its values.
std::string svg(const HeatMap& map);

}  // namespace tapestry::experiments
