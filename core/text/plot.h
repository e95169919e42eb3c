// Internal to Tapestry. Lines, points and bars over two axes, as SVG: self-contained text, the same
// for the same numbers; light and dark follow the reader's setting; series differ by dash and
// marker as well as by colour.
//
//     Plot plot{.title = "Loss", .x = {.label = "step"}, .y = {.label = "loss", .log = true}};
//     plot.series.push_back({.name = "measured", .x = steps, .y = losses});
//     plot.series.push_back({.name = "theory", .x = steps, .y = curve, .dashed = true});
//     report.figures.push_back({"loss", "what it shows", svg(plot)});
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace tapestry::pictures {

enum class Mark { line, line_and_points, points, bars };

struct Axis {
    std::string label = {};
    bool log = false;                ///< then every value must be positive
    std::optional<double> low = {};  ///< chosen from the values where not given
    std::optional<double> high = {};
    std::vector<double> ticks = {};       ///< chosen where empty
    std::vector<std::string> names = {};  ///< instead of numbers, at 0, 1, 2, ...; for bars
};

struct Series {
    std::string name = {};  ///< in the legend
    std::vector<double> x = {};
    std::vector<double> y = {};  ///< as many; what is not finite is left out
    Mark mark = Mark::line;
    bool dashed = false;  ///< for what theory says
    int colour = -1;      ///< number of its colour; -1: that of its place among the series
};

struct Plot {
    std::string title = {};
    Axis x = {};
    Axis y = {};
    std::vector<Series> series = {};
};

/// Throws ValueError for a plot of nothing, for x and y of different lengths, and for values that a
/// logarithmic axis cannot show.
std::string svg(const Plot& plot);

}  // namespace tapestry::pictures
