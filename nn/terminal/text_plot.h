// Curves drawn with characters, for a terminal without a browser:
//
//     4 +*
//       | *
//       |  *
//     3 +   *
//       |    *
//     2 +     **
//       |       ***  o
//       |          *******       o           o
//     1 +                 ********************
//       +------------+-----------+-----------+
//                   100         200        300
//     * loss  o validation loss  by step
//
// Read next: text_map.h, for attention.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace tapestry {

/// One curve.
struct TextCurve {
    std::string name;            ///< for the legend
    std::vector<double> x = {},  ///< of the points
        y = {};                  ///< one per x; not finite: a gap
};

/// The size and axes of a plot.
struct TextPlotOptions {
    int width = 80;            ///< columns in total
    int height = 16;           ///< rows of the curves only
    bool log_y = false;        ///< y <= 0 is then a gap
    std::string x_label = {};  ///< "step"
};

/// Number of curves for which there are marks.
inline constexpr std::size_t kMostTextCurves = 34;

/// The curves over one another, the later ones in front, each with its own mark, in the order
/// `*o+x#@%&` and then a to z. If several points of a curve fall in one column, their mean is drawn
/// (of the logarithms, with log_y); a curve with points in most columns is drawn as a line, without
/// holes. Both axes have ticks at round numbers. Those of the y axis are equally many rows apart
/// (not with log_y), and the lowest is at the bottom. Throws ValueError for an x that is not
/// finite, different numbers of x and y, no point that can be drawn, more than kMostTextCurves
/// curves, a width below 24 or a height below 4.
std::string text_plot(const std::vector<TextCurve>& curves, const TextPlotOptions& options = {});

}  // namespace tapestry
