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

#include <string>
#include <vector>

namespace tapestry {

struct TextCurve {
    std::string name;
    std::vector<double> x = {}, y = {};  ///< of equal length; a gap where y is not finite
};

struct TextPlotOptions {
    int width = 80;            ///< columns in total
    int height = 16;           ///< rows of the curves only
    bool log_y = false;        ///< y <= 0 is then a gap
    std::string x_label = {};  ///< "step"
};

/// Draws the curves on top of each other, later ones in front, with marks in the order *ox#@%&= and
/// then a to z. Points of a curve in the same column are replaced by their mean (of the logarithms,
/// with log_y). Both axes have ticks at round numbers, and the y axis ends at its outermost ticks.
/// Throws ValueError for an x that is not finite, x and y of different lengths, no finite point,
/// more than 34 curves, a width below 24 or a height below 4.
std::string text_plot(const std::vector<TextCurve>& curves, const TextPlotOptions& options = {});

}  // namespace tapestry
