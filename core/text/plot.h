// Lines, points and bars over two axes, as SVG: self-contained text, the same for the same numbers;
// light and dark follow the reader's setting; series differ by dash and marker as well as by
// colour.
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

/// How a series is drawn.
enum class Mark {
    line,             ///< a line through its points
    line_and_points,  ///< the line and a marker for each
    points,           ///< markers only
    bars              ///< a bar for each
};

/// One axis of a plot.
struct Axis {
    std::string label = {};               ///< what it shows
    bool log = false;                     ///< then every value must be positive
    std::optional<double> low = {};       ///< chosen from the values where not given
    std::optional<double> high = {};      ///< likewise
    std::vector<double> ticks = {};       ///< chosen where empty
    std::vector<std::string> names = {};  ///< instead of numbers, at 0, 1, 2, ...; for bars
};

/// One curve of a plot.
struct Series {
    std::string name = {};       ///< in the legend
    std::vector<double> x = {};  ///< along the x axis
    std::vector<double> y = {};  ///< as many; what is not finite is left out
    /// Half the width of each value's interval, drawn as a vertical bar; empty: no intervals.
    std::vector<double> error = {};
    /// The upper half where the two differ, as on a logarithmic axis; empty: `error` for both.
    std::vector<double> error_above = {};
    Mark mark = Mark::line;  ///< how it is drawn
    bool dashed = false;     ///< for what theory says
    int colour = -1;         ///< number of its colour; -1: that of its place among the series
};

/// A plot.
struct Plot {
    std::string title = {};           ///< above it
    Axis x = {};                      ///< the horizontal axis
    Axis y = {};                      ///< the vertical axis
    std::vector<Series> series = {};  ///< at least one
};

/// The plot as a complete SVG file. Throws ValueError for a plot of nothing, for x, y and intervals
/// of different lengths, and for values that a logarithmic axis cannot show.
std::string svg(const Plot& plot);

}  // namespace tapestry::pictures
