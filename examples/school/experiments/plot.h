// Internal to Tapestry. Pictures of numbers, as SVG: the library's plots, and grids of coloured
// cells (heat_map.cpp).
#pragma once

#include <tapestry/core/text/plot.h>
#include <tapestry/nn/metrics/interval.h>

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
