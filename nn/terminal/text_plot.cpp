#include <tapestry/nn/terminal/text_plot.h>

#include <tapestry/core/error.h>
#include <tapestry/nn/terminal/text_axis.h>
#include <tapestry/nn/terminal/text_label.h>

#include <algorithm>
#include <cmath>
#include <string_view>

namespace tapestry {
namespace {

using namespace terminal;

// None of them is a sign of the axes.
constexpr std::string_view kMarks = "*ox#@%&=abcdefghijklmnopqrstuvwxyz";

struct Point {
    double x, y;  // as the axes have them
};

using Points = std::vector<Point>;
using Lines = std::vector<std::string>;

// What can be drawn of a curve.
Points points_of(const TextCurve& curve, bool log_y) {
    require(curve.x.size() == curve.y.size(), "text_plot: '{}' has {} x and {} y", curve.name,
            curve.x.size(), curve.y.size());
    Points points;
    for (std::size_t i = 0; i < curve.x.size(); ++i) {
        require(std::isfinite(curve.x[i]), "text_plot: x {} of '{}' is {}", i, curve.name,
                curve.x[i]);
        const double y = log_y ? std::log10(curve.y[i]) : curve.y[i];  // NaN or -inf for none
        if (std::isfinite(y)) points.push_back({curve.x[i], y});
    }
    return points;
}

// The axis around one coordinate of all points, with room for `most` steps between ticks.
Axis axis_around(const std::vector<Points>& curves, double Point::*coordinate, bool log, int most) {
    std::vector<double> values;
    for (const Points& points : curves) {
        for (const Point& point : points) values.push_back(point.*coordinate);
    }
    require(!values.empty(), "text_plot: no point that can be drawn");
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    return log ? log_axis(*low, *high, most) : linear_axis(*low, *high, most);
}

// The means of what falls in each of `width` columns; x is the column.
Points column_means(const Points& points, const Axis& x, std::size_t width) {
    std::vector<double> sums(width), counts(width);
    for (const Point& point : points) {
        const std::size_t column = x.place(point.x, width);
        sums[column] += point.y;
        counts[column] += 1;
    }
    Points means;
    for (std::size_t column = 0; column < width; ++column) {
        if (counts[column] == 0) continue;
        means.push_back({static_cast<double>(column), sums[column] / counts[column]});
    }
    return means;
}

// The curves as marks, and their axes.
struct Drawing {
    Axis x, y;
    std::size_t indent = 2;  // columns before the y axis
    std::size_t width = 0;   // columns beside it
    std::vector<Points> means;
};

// How many columns there are depends on the numbers beside the y axis, these on the means that are
// drawn, and these on how many columns there are: begun narrow, it ends when the numbers fit.
Drawing lay_out(const std::vector<Points>& curves, const TextPlotOptions& options) {
    Drawing d;
    for (std::size_t needed = d.indent;; d.indent = needed) {
        d.width = static_cast<std::size_t>(options.width) - d.indent - 1;
        d.x = axis_around(curves, &Point::x, false, std::max(3, static_cast<int>(d.width) / 12));
        d.means.clear();
        for (const Points& points : curves) d.means.push_back(column_means(points, d.x, d.width));
        d.y = up_to_ticks(
            axis_around(d.means, &Point::y, options.log_y, std::max(3, options.height / 2)));
        for (const Tick& tick : d.y.ticks) needed = std::max(needed, tick.label.size() + 1);
        require(needed + 12 <= static_cast<std::size_t>(options.width),
                "text_plot: {} columns have no room for curves beside numbers like {}",
                options.width, d.y.ticks.front().label);
        if (needed == d.indent) return d;
    }
}

// Each row with the y axis and its numbers before it.
std::string beside(const Axis& y, const Lines& rows, std::size_t indent) {
    Lines labels(rows.size());
    for (const Tick& tick : y.ticks) {
        labels[rows.size() - 1 - y.place(tick.at, rows.size())] = tick.label;
    }
    std::string text;
    for (std::size_t row = 0; row < rows.size(); ++row) {
        text += line_of(fmt::format("{:>{}} {}{}", labels[row], indent - 1,
                                    labels[row].empty() ? '|' : '+', rows[row]));
    }
    return text;
}

// The x axis, and its numbers where one leaves room for the next.
std::string below(const Axis& x, std::size_t width, std::size_t indent) {
    std::string line(width, '-'), numbers;
    for (const Tick& tick : x.ticks) {
        if (tick.at < x.low || tick.at > x.high) continue;
        const std::size_t column = x.place(tick.at, width), size = tick.label.size();
        line[column] = '+';
        if (size > width) continue;
        const std::size_t from = std::min(column - std::min(column, size / 2), width - size);
        if (!numbers.empty() && from < numbers.size() + 2) continue;
        numbers += std::string(from - numbers.size(), ' ') + tick.label;
    }
    const std::string blanks(indent, ' ');
    return fmt::format("{}+{}\n{} {}\n", blanks, line, blanks, numbers);
}

std::string legend(const std::vector<TextCurve>& curves, const TextPlotOptions& options) {
    Lines entries;
    for (std::size_t i = 0; i < curves.size(); ++i) {
        entries.push_back(
            fmt::format("{} {}", kMarks[i], label_of(curves[i].name, options.width - 2)));
    }
    if (!options.x_label.empty()) {
        entries.push_back("by " + label_of(options.x_label, options.width - 3));
    }
    std::string text, line;
    for (const std::string& entry : entries) {
        if (!line.empty() && columns_of(line) + 2 + columns_of(entry) > options.width) {
            text += line + "\n";
            line.clear();
        }
        line += (line.empty() ? "" : "  ") + entry;
    }
    return text + line + "\n";
}

}  // namespace

std::string text_plot(const std::vector<TextCurve>& curves, const TextPlotOptions& options) {
    require(options.width >= 24 && options.height >= 4,
            "text_plot: {} columns and {} rows; at least 24 and 4 are needed", options.width,
            options.height);
    require(curves.size() <= kMarks.size(), "text_plot: {} curves; there are marks for {}",
            curves.size(), kMarks.size());
    std::vector<Points> drawn;
    for (const TextCurve& curve : curves) drawn.push_back(points_of(curve, options.log_y));

    const Drawing d = lay_out(drawn, options);
    Lines rows(static_cast<std::size_t>(options.height), std::string(d.width, ' '));
    for (std::size_t i = 0; i < d.means.size(); ++i) {
        for (const Point& mean : d.means[i]) {
            const std::size_t up = d.y.place(mean.y, rows.size());
            rows[rows.size() - 1 - up][static_cast<std::size_t>(mean.x)] = kMarks[i];
        }
    }
    return beside(d.y, rows, d.indent) + below(d.x, d.width, d.indent) + legend(curves, options);
}

}  // namespace tapestry
