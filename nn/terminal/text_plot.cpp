#include <tapestry/nn/terminal/text_plot.h>

#include <tapestry/core/error.h>
#include <tapestry/nn/terminal/text_label.h>

#include <algorithm>
#include <cmath>
#include <string_view>

namespace tapestry {
namespace {

using namespace terminal;

// ---- an axis ------------------------------------------------------------------------------------

// The numbers along it, and the row or column of a value.

struct Tick {
    double at;  ///< on the axis: the logarithm on a logarithmic axis
    std::string label;
};

struct Axis {
    double low = 0, high = 1;
    std::vector<Tick> ticks = {};

    /// The nearest of `places` positions, where 0 is `low` and the last is `high`.
    std::size_t place(double at, std::size_t places) const;
};

// Tolerance for rounding errors.
constexpr double kNear = 1e-9;
// In a smaller range, the steps between ticks would lose their digits.
constexpr double kLeast = 1e-300;

Axis range_of(double low, double high) {
    require(std::isfinite(high - low), "text_plot: {} and {} are too far apart", low, high);
    const double least = std::max(kLeast, kNear * std::max(std::abs(low), std::abs(high)));
    if (high - low > least) return {low, high};
    const double room = std::abs(low) < kLeast ? 1 : 0.1 * std::abs(low);
    return {low - room, high + room};
}

// The smallest of 1, 2, 5 times a power of ten that covers the range in at most `most` steps.
double round_step(double range, int most) {
    const double least = range / most;
    const double power = std::pow(10, std::floor(std::log10(least)));
    for (const double factor : {1., 2., 5.}) {
        if (factor * power >= least * (1 - kNear)) return factor * power;
    }
    return 10 * power;
}

// As many decimals as the step has; as many significant digits for very large or small numbers.
std::string number_text(double value, double step, double largest) {
    const int digit = static_cast<int>(std::floor(std::log10(step) + kNear));
    if (step >= 1e-4 && largest < 1e6) return fmt::format("{:.{}f}", value, std::max(0, -digit));
    const int first = static_cast<int>(std::floor(std::log10(largest) + kNear));
    return fmt::format("{:.{}g}", value, std::clamp(first - digit + 1, 1, 15));
}

// Logarithms of 1, 2 and 5 times each power; with every = n > 0, only of every n-th power.
std::vector<Tick> log_ticks(double low, double high, int every) {
    const double stride = std::max(1, every);
    std::vector<Tick> ticks;
    for (double power = std::floor(low / stride) * stride;; power += stride) {
        for (const double factor : {1., 2., 5.}) {
            if (factor > 1 && every > 0) continue;
            const double at = power + std::log10(factor);
            if (at <= low + kNear) ticks.clear();
            ticks.push_back({at, fmt::format("{:.6g}", factor * std::pow(10, power))});
            if (at >= high - kNear) return ticks;
        }
    }
}

std::size_t Axis::place(double at, std::size_t places) const {
    const double share = (at - low) / (high - low);
    return static_cast<std::size_t>(std::lround(share * static_cast<double>(places - 1)));
}

// From low to high, widened if they are equal, with ticks at multiples of 1, 2 or 5 times a power
// of ten, at most `most` steps from the last tick below to the first above.
Axis linear_axis(double low, double high, int most) {
    Axis axis = range_of(low, high);
    double step = round_step(axis.high - axis.low, most), first = 0, last = 0;
    for (int wider = most;; --wider) {  // rounding outwards may add a step too many
        first = std::floor(axis.low / step + kNear), last = std::ceil(axis.high / step - kNear);
        if (last - first <= most || wider < 2) break;
        step = round_step(axis.high - axis.low, wider - 1);
    }
    const double largest = step * std::max(std::abs(first), std::abs(last));
    for (double i = first; i <= last; ++i) {
        axis.ticks.push_back({i * step, number_text(i * step + 0., step, largest)});
    }
    return axis;
}

// The same for base-10 logarithms: ticks at 1, 2 and 5 times each power of ten, or at every power,
// or every other, ...
Axis log_axis(double low, double high, int most) {
    Axis axis = range_of(low, high);
    for (int every = 0;; ++every) {
        axis.ticks = log_ticks(axis.low, axis.high, every);
        if (static_cast<int>(axis.ticks.size()) <= most + 1) return axis;
    }
}

// Extends the axis to its outermost ticks.
Axis up_to_ticks(Axis axis) {
    axis.low = axis.ticks.front().at;
    axis.high = axis.ticks.back().at;
    return axis;
}

// ---- curves -------------------------------------------------------------------------------------

// None of these is used to draw the axes.
constexpr std::string_view kMarks = "*ox#@%&=abcdefghijklmnopqrstuvwxyz";
static_assert(kMarks.size() == kMostTextCurves);

struct Point {
    double x, y;  // in axis coordinates
};

using Points = std::vector<Point>;
using Lines = std::vector<std::string>;

// The points of a curve; NaN where it has a gap.
Points points_of(const TextCurve& curve, bool log_y) {
    require(curve.x.size() == curve.y.size(), "text_plot: '{}' has {} x and {} y", curve.name,
            curve.x.size(), curve.y.size());
    Points points;
    for (std::size_t i = 0; i < curve.x.size(); ++i) {
        require(std::isfinite(curve.x[i]), "text_plot: x {} of '{}' is {}", i, curve.name,
                curve.x[i]);
        const double y = log_y ? std::log10(curve.y[i]) : curve.y[i];
        points.push_back({curve.x[i], std::isfinite(y) ? y : NAN});
    }
    return points;
}

// The axis for one coordinate of all points, with at most `most` steps between ticks.
Axis axis_around(const std::vector<Points>& curves, double Point::*coordinate, bool log, int most) {
    std::vector<double> values;
    for (const Points& points : curves) {
        for (const Point& point : points) {
            if (!std::isnan(point.y)) values.push_back(point.*coordinate);
        }
    }
    require(!values.empty(), "text_plot: no point can be drawn");
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    return log ? log_axis(*low, *high, most) : linear_axis(*low, *high, most);
}

// Columns between two that have a point and that no point falls into, where a curve has points in
// most of its columns: then it is a line, and these are on it. `lost` columns are gaps.
Points without_holes(const Points& means, const std::vector<bool>& lost) {
    if (means.size() < 2) return means;
    const double span = means.back().x - means.front().x + 1;
    if (2 * static_cast<double>(means.size()) < span) return means;
    Points line;
    for (std::size_t i = 0; i < means.size(); ++i) {
        line.push_back(means[i]);
        if (i + 1 == means.size()) break;
        const Point &from = means[i], &to = means[i + 1];
        for (double column = from.x + 1; column < to.x; ++column) {
            if (lost[static_cast<std::size_t>(column)]) continue;
            const double share = (column - from.x) / (to.x - from.x);
            line.push_back({column, from.y + share * (to.y - from.y)});
        }
    }
    return line;
}

// The mean of the points in each of `width` columns; x is the column.
Points column_means(const Points& points, const Axis& x, std::size_t width) {
    std::vector<double> sums(width), counts(width);
    std::vector<bool> lost(width);
    for (const Point& point : points) {
        if (point.x < x.low || point.x > x.high) continue;  // a gap beyond all points
        const std::size_t column = x.place(point.x, width);
        if (!std::isfinite(point.y)) {
            lost[column] = true;
            continue;
        }
        sums[column] += point.y;
        counts[column] += 1;
    }
    Points means;
    for (std::size_t column = 0; column < width; ++column) {
        if (counts[column] == 0) continue;
        means.push_back({static_cast<double>(column), sums[column] / counts[column]});
    }
    return without_holes(means, lost);
}

// The y axis: ticks the same whole number of rows apart, from its lowest one up, and as little
// space above the last one as possible.
Axis even_axis(const std::vector<Points>& curves, int rows) {
    Axis best;
    for (int most = std::max(3, rows / 2); most >= 2; --most) {
        Axis axis = up_to_ticks(axis_around(curves, &Point::y, false, most));
        const int steps = static_cast<int>(axis.ticks.size()) - 1;
        if (steps < 1 || steps > rows - 1) continue;
        const int apart = (rows - 1) / steps;
        axis.high = axis.low + (axis.high - axis.low) / steps * (rows - 1) / apart;
        const bool better = axis.high - axis.low < 0.95 * (best.high - best.low);
        if (best.ticks.empty() || better) best = axis;
    }
    return best;
}

// The curves as points, and their axes.
struct Drawing {
    Axis x, y;
    std::size_t indent = 2;  // columns before the y axis
    std::size_t width = 0;   // columns to the right of it
    std::vector<Points> means;
};

// The width depends on the y axis labels, the labels on the means drawn, and the means on the
// width: starts with narrow labels and repeats until they fit.
Drawing lay_out(const std::vector<Points>& curves, const TextPlotOptions& options) {
    Drawing d;
    for (std::size_t needed = d.indent;; d.indent = needed) {
        d.width = static_cast<std::size_t>(options.width) - d.indent - 1;
        d.x = axis_around(curves, &Point::x, false, std::max(3, static_cast<int>(d.width) / 12));
        d.means.clear();
        for (const Points& points : curves) d.means.push_back(column_means(points, d.x, d.width));
        d.y = options.log_y ? up_to_ticks(axis_around(d.means, &Point::y, true,
                                                      std::max(3, options.height / 2)))
                            : even_axis(d.means, options.height);
        for (const Tick& tick : d.y.ticks) needed = std::max(needed, tick.label.size() + 1);
        require(needed + 12 <= static_cast<std::size_t>(options.width),
                "text_plot: {} columns leave no room for curves next to numbers like {}",
                options.width, d.y.ticks.front().label);
        if (needed == d.indent) return d;
    }
}

// Each row, preceded by the y axis and its labels.
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

// The x axis, with labels where the previous one leaves room.
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
            "text_plot: needs at least 24 columns and 4 rows, got {} and {}", options.width,
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
