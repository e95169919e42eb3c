// Pictures of numbers, as SVG: lines, points and bars over two axes (plot.cpp), and grids of
// coloured cells (heat_map.cpp). Self-contained text, the same for the same numbers; light and dark
// follow the reader's setting; series differ by dash and marker as well as by colour.
//
//     Plot plot{.title = "Loss", .x = {.label = "step"}, .y = {.label = "loss", .log = true}};
//     plot.series.push_back({.name = "measured", .x = steps, .y = losses});
//     plot.series.push_back({.name = "theory", .x = steps, .y = curve, .dashed = true});
//     report.figures.push_back({"loss", "what it shows", svg(plot)});
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace tapestry::experiments {

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
};

struct Plot {
    std::string title = {};
    Axis x = {};
    Axis y = {};
    std::vector<Series> series = {};
};

struct HeatMap {
    std::string title = {};
    std::string x_label = {};
    std::string y_label = {};
    std::vector<std::string> columns = {};
    std::vector<std::string> rows = {};
    std::vector<std::vector<double>> values = {};  ///< [rows][columns]; deep: far from 0
    bool numbers = true;                           ///< written into the cells
};

/// Throws ValueError for a picture of nothing, for x and y of different lengths, for values that a
/// logarithmic axis cannot show, and for a grid whose names do not fit its values.
std::string svg(const Plot& plot);
std::string svg(const HeatMap& map);

}  // namespace tapestry::experiments
