// Lines, points and bars over two axes. Read plot.h first.
#include <tapestry/core/error.h>
#include <tapestry/core/text/plot.h>
#include <tapestry/core/text/svg.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

namespace tapestry::pictures {
namespace {

constexpr int kWidth = 640, kHeight = 400;
constexpr double kLeftMargin = 70, kRightMargin = 20, kBottomMargin = 50, kTitle = 34,
                 kLegendRow = 20;

// From numbers to places on the paper.
struct Scale {
    bool log = false;
    double low = 0, high = 1;    // of the numbers
    double from = 0, until = 1;  // on the paper

    double operator()(double value) const {
        const double share =
            log ? std::log(value / low) / std::log(high / low) : (value - low) / (high - low);
        return from + share * (until - from);
    }
    bool shows(double value) const {
        const double slack = 1e-9 * (high - low);
        return value >= low - slack && value <= high + slack;
    }
};

std::vector<double> linear_ticks(double low, double high) {
    const double rough = (high - low) / 5;
    const double power = std::pow(10.0, std::floor(std::log10(rough)));
    double step = 10 * power;
    for (const double nice : {5.0, 2.0, 1.0}) {
        if (nice * power >= rough) step = nice * power;
    }
    std::vector<double> ticks;
    for (double i = std::ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; ++i) {
        ticks.push_back(i * step);
    }
    return ticks;
}

// Powers of ten, not more than a dozen; where there are few, twice and five times as much too.
std::vector<double> log_ticks(double low, double high) {
    const double decades = std::log10(high / low);
    const bool few = decades < 3;
    const double every = std::max(1.0, std::ceil(decades / 10));
    std::vector<double> ticks;
    const double first = every * std::floor(std::log10(low) / every);
    for (double e = first; e <= std::ceil(std::log10(high)); e += every) {
        for (const double factor : {1.0, 2.0, 5.0}) {
            const double tick = factor * std::pow(10.0, e);
            if ((factor == 1 || few) && tick >= low * (1 - 1e-9) && tick <= high * (1 + 1e-9)) {
                ticks.push_back(tick);
            }
        }
    }
    return ticks.size() < 2 ? linear_ticks(low, high) : ticks;
}

// If the values are few whole numbers and not too close, like 1, 2, 4, 8, they are the ticks.
std::vector<double> ticks_at(const Plot& plot, const Scale& scale) {
    constexpr std::size_t kMost = 8;
    constexpr double kApart = 30;  // on the paper
    std::set<double> values;
    for (const Series& s : plot.series) {
        for (const double x : s.x) {
            if (!scale.shows(x)) continue;
            if (x != std::floor(x) || x >= 1e4) return {};
            values.insert(x);
        }
    }
    if (values.size() < 3 || values.size() > kMost) return {};
    double last = -kApart;
    for (const double x : values) {
        if (scale(x) - last < kApart) return {};
        last = scale(x);
    }
    return {values.begin(), values.end()};
}

std::vector<double> ticks_of(const Axis& axis, const Scale& scale) {
    if (!axis.ticks.empty()) return axis.ticks;
    if (!axis.names.empty()) {
        std::vector<double> ticks;
        for (std::size_t i = 0; i < axis.names.size(); ++i) ticks.push_back(static_cast<double>(i));
        return ticks;
    }
    return axis.log ? log_ticks(scale.low, scale.high) : linear_ticks(scale.low, scale.high);
}

struct Range {
    double low = std::numeric_limits<double>::infinity();
    double high = -low;
    void take(double value) {
        low = std::min(low, value);
        high = std::max(high, value);
    }
};

// The numbers an axis has to show, with a little room around them.
Range widened(const Axis& axis, Range values, bool from_zero) {
    if (!axis.names.empty()) return {-0.5, static_cast<double>(axis.names.size()) - 0.5};
    for (const double tick : axis.ticks) values.take(tick);
    if (axis.log) {
        const double room = std::max(1.05, std::pow(values.high / values.low, 0.04));
        values = {values.low / room, values.high * room};
    } else {
        if (from_zero) values.take(0);
        // Numbers that are not far from 0, seen from their spread, are shown with it.
        if (values.low > 0 && values.low < 0.5 * values.high) values.low = 0;
        double room = 0.05 * (values.high - values.low);
        // Numbers that differ by their rounding only are the same; no ticks fit between them.
        const double size = std::max(std::abs(values.low), std::abs(values.high));
        if (room <= 1e-12 * size) room = size == 0 ? 1 : 0.1 * size;
        values = {values.low == 0 ? 0 : values.low - room,
                  values.high == 0 ? 0 : values.high + room};
    }
    return {axis.low.value_or(values.low), axis.high.value_or(values.high)};
}

void check(const Plot& plot) {
    require<ValueError>(!plot.series.empty(), "plot '{}': no series", plot.title);
    for (const Series& s : plot.series) {
        require<ValueError>(s.x.size() == s.y.size() && !s.x.empty(),
                            "plot '{}': series '{}' has {} x and {} y", plot.title, s.name,
                            s.x.size(), s.y.size());
        require<ValueError>(s.error.empty() || s.error.size() == s.y.size(),
                            "plot '{}': series '{}' has {} y and {} intervals", plot.title, s.name,
                            s.y.size(), s.error.size());
        require<ValueError>(s.error_above.empty() || s.error_above.size() == s.error.size(),
                            "plot '{}': series '{}' has {} intervals and {} upper halves of them",
                            plot.title, s.name, s.error.size(), s.error_above.size());
        for (std::size_t i = 0; i < s.x.size(); ++i) {
            require<ValueError>(!(plot.x.log && s.x[i] <= 0) && !(plot.y.log && s.y[i] <= 0),
                                "plot '{}': ({}, {}) of series '{}' on a logarithmic axis",
                                plot.title, s.x[i], s.y[i], s.name);
        }
    }
}

// The place of the drawing area, with both scales.
struct Paper {
    Scale x, y;
    double top = 0;
    double bottom = kHeight - kBottomMargin;
    double left = kLeftMargin;
    double right = kWidth - kRightMargin;
};

bool has_interval(const Series& s, std::size_t i) {
    return !s.error.empty() && std::isfinite(s.y[i]) && std::isfinite(s.error[i]) && s.error[i] > 0;
}

double upper_end(const Series& s, std::size_t i) {
    return s.y[i] + (s.error_above.empty() ? s.error : s.error_above)[i];
}

Paper paper_of(const Plot& plot, double legend_rows) {
    Range x, y;
    bool bars = false;
    for (const Series& s : plot.series) {
        bars = bars || s.mark == Mark::bars;
        for (std::size_t i = 0; i < s.x.size(); ++i) {
            if (!std::isfinite(s.x[i]) || !std::isfinite(s.y[i])) continue;
            x.take(s.x[i]);
            y.take(s.y[i]);
            if (!has_interval(s, i)) continue;
            y.take(upper_end(s, i));
            if (!plot.y.log || s.y[i] > s.error[i]) y.take(s.y[i] - s.error[i]);
        }
    }
    require<ValueError>(x.low <= x.high, "plot '{}': no finite value", plot.title);
    x = widened(plot.x, x, false);
    y = widened(plot.y, y, bars);
    Paper paper;
    paper.top = kTitle + kLegendRow * legend_rows + 8;
    paper.x = {plot.x.log, x.low, x.high, paper.left, paper.right};
    paper.y = {plot.y.log, y.low, y.high, paper.bottom, paper.top};
    return paper;
}

std::string line(double x1, double y1, double x2, double y2, std::string_view name) {
    return fmt::format(
        "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" class=\"{}\"/>\n", x1, y1,
        x2, y2, name);
}

std::string label_of(const Axis& axis, double tick) {
    const auto i = static_cast<std::size_t>(std::llround(std::max(0.0, tick)));
    return i < axis.names.size() ? axis.names[i] : tick_label(tick);
}

std::string axes(const Plot& plot, const Paper& p) {
    std::string out;
    const bool chosen = !plot.x.ticks.empty() || !plot.x.names.empty();
    const std::vector<double> own =
        plot.x.log && !chosen ? ticks_at(plot, p.x) : std::vector<double>();
    for (const double tick : own.empty() ? ticks_of(plot.x, p.x) : own) {
        if (!p.x.shows(tick)) continue;
        const double at = p.x(tick);
        if (plot.x.names.empty()) out += line(at, p.top, at, p.bottom, "grid");
        out += svg_text(at, p.bottom + 16, label_of(plot.x, tick), "middle");
    }
    for (const double tick : ticks_of(plot.y, p.y)) {
        if (!p.y.shows(tick)) continue;
        out += line(p.left, p.y(tick), p.right, p.y(tick), "grid");
        out += svg_text(p.left - 6, p.y(tick) + 4, label_of(plot.y, tick), "end");
    }
    out += line(p.left, p.bottom, p.right, p.bottom, "axis");
    out += line(p.left, p.top, p.left, p.bottom, "axis");
    out += svg_text((p.left + p.right) / 2, kHeight - 12, plot.x.label, "middle");
    const double middle = (p.top + p.bottom) / 2;
    out += svg_text(16, middle, plot.y.label, "middle",
                    fmt::format("transform=\"rotate(-90 16 {:.1f})\"", middle));
    return out;
}

int colour_of(const Series& s, std::size_t index) {
    return s.colour >= 0 ? s.colour : static_cast<int>(index % kMostColours);
}

std::string filled(const Series& s, std::size_t index) {
    return fmt::format("class=\"f{}\"", colour_of(s, index));
}

std::string marker(const Series& s, std::size_t index, double x, double y) {
    const std::string colour = filled(s, index);
    switch (index % 4) {
        case 0: return svg_circle({x, y}, 3.5, colour);
        case 1: return svg_rect(x - 3, y - 3, 6, 6, colour);
        case 2: return svg_polygon({{x - 4, y + 3.5}, {x + 4, y + 3.5}, {x, y - 4}}, colour);
        default:
            return svg_polygon({{x - 4.5, y}, {x, y - 4.5}, {x + 4.5, y}, {x, y + 4.5}}, colour);
    }
}

// Dashed series differ by their dashes as well, unless they were given a colour.
std::string stroke(const Plot& plot, std::size_t index) {
    constexpr const char* kDashes[] = {"6 4", "2 4", "12 4", "10 3 2 3"};
    const auto before = plot.series.begin() + static_cast<std::ptrdiff_t>(index);
    const auto dashed = std::count_if(plot.series.begin(), before,
                                      [](const Series& s) { return s.dashed && s.colour < 0; });
    const std::string dashes =
        fmt::format(" stroke-dasharray=\"{}\"", kDashes[dashed % std::ssize(kDashes)]);
    const Series& s = plot.series[index];
    return fmt::format("class=\"c{}\"{}", colour_of(s, index), s.dashed ? dashes : "");
}

// The places of a series on the paper.
std::vector<Point> places(const Series& s, const Paper& p) {
    std::vector<Point> result;
    for (std::size_t i = 0; i < s.x.size(); ++i) result.push_back({p.x(s.x[i]), p.y(s.y[i])});
    return result;
}

std::string points(const Series& s, std::size_t index, const Paper& p) {
    std::string out;
    for (const Point& at : places(s, p)) {
        if (std::isfinite(at.x) && std::isfinite(at.y)) out += marker(s, index, at.x, at.y);
    }
    return out;
}

// The intervals of a series, `shift` to the right of its points.
std::string intervals(const Series& s, double shift, const std::string& attributes,
                      const Paper& p) {
    std::string out;
    for (std::size_t i = 0; i < s.x.size(); ++i) {
        if (!has_interval(s, i)) continue;
        if (p.y(s.y[i]) < p.top || p.y(s.y[i]) > p.bottom) continue;  // of a point that is not seen
        const double x = p.x(s.x[i]) + shift, low = s.y[i] - s.error[i];
        const double top = p.y(upper_end(s, i));
        const double bottom = p.y.log && low <= 0 ? p.bottom : p.y(low);
        if (bottom - top < 1) continue;  // thinner than a line
        // Half of it is in front of the bar, whose colours need not contrast with its own.
        if (s.mark == Mark::bars) {
            out += svg_rect(x - 4, top - 1, 8, bottom - top + 2, "class=\"paper\"");
        }
        out += svg_path({{x - 3, top}, {x + 3, top}}, attributes) +
               svg_path({{x, top}, {x, bottom}}, attributes) +
               svg_path({{x - 3, bottom}, {x + 3, bottom}}, attributes);
    }
    return out;
}

// Bars of several series stand side by side around their x.
std::string bars(const Series& s, std::size_t index, std::size_t slot, double slots,
                 const Paper& p) {
    const double width = 0.8 * std::abs(p.x(1) - p.x(0)) / slots;
    const double base = p.y(p.y.log ? p.y.low : std::clamp(0.0, p.y.low, p.y.high));
    const double middle = (static_cast<double>(slot) - (slots - 1) / 2) * width;
    std::string out;
    for (const Point& at : places(s, p)) {
        if (!std::isfinite(at.y)) continue;
        out +=
            svg_rect(at.x + (static_cast<double>(slot) - slots / 2) * width, std::min(at.y, base),
                     width * 0.94, std::abs(at.y - base), filled(s, index));
    }
    return out + intervals(s, middle, "class=\"axis\"", p);
}

std::string marks(const Plot& plot, const Paper& p) {
    const auto slots = std::count_if(plot.series.begin(), plot.series.end(),
                                     [](const Series& s) { return s.mark == Mark::bars; });
    std::string out;
    // Below all marks, which a short interval would hide.
    for (std::size_t i = 0; i < plot.series.size(); ++i) {
        const Series& s = plot.series[i];
        if (s.mark == Mark::bars) continue;
        out += intervals(s, 0, fmt::format("class=\"c{}\"", colour_of(s, i)), p);
    }
    std::size_t slot = 0;
    for (std::size_t i = 0; i < plot.series.size(); ++i) {
        const Series& s = plot.series[i];
        if (s.mark == Mark::bars) out += bars(s, i, slot++, static_cast<double>(slots), p);
        if (s.mark == Mark::line || s.mark == Mark::line_and_points) {
            out += svg_path(places(s, p), stroke(plot, i));
        }
        if (s.mark == Mark::points || s.mark == Mark::line_and_points) out += points(s, i, p);
    }
    return fmt::format(
        "<clipPath id=\"area\"><rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" "
        "height=\"{:.1f}\"/></clipPath>\n<g clip-path=\"url(#area)\">\n{}</g>\n",
        p.left, p.top - 5, p.right - p.left, p.bottom - p.top + 10, out);
}

// A name in the legend with a sample of its line, about as wide as its letters.
double legend_width(const Series& s) { return 44 + 7.0 * static_cast<double>(s.name.size()); }

std::string legend_sample(const Plot& plot, std::size_t i, double x, double y) {
    const Series& s = plot.series[i];
    std::string out;
    if (s.mark == Mark::bars) {
        out = svg_rect(x, y - 5, 24, 10, filled(s, i));
    }
    if (s.mark == Mark::line || s.mark == Mark::line_and_points) {
        out += svg_path({{x, y}, {x + 24, y}}, stroke(plot, i));
    }
    if (s.mark == Mark::points || s.mark == Mark::line_and_points) out += marker(s, i, x + 12, y);
    return out;
}

// The legend, and in `rows` how many rows it took; none for a single series without a name.
std::string legend(const Plot& plot, int& rows) {
    std::string out;
    double x = kLeftMargin;
    rows = 0;
    for (std::size_t i = 0; i < plot.series.size(); ++i) {
        const Series& s = plot.series[i];
        if (s.name.empty()) continue;
        if (rows == 0 || x + legend_width(s) > kWidth - 10) {
            ++rows;
            x = kLeftMargin;
        }
        const double y = kTitle + kLegendRow * (rows - 0.5);
        out += legend_sample(plot, i, x, y) + svg_text(x + 30, y + 4, s.name);
        x += legend_width(s);
    }
    return out;
}

}  // namespace

std::string svg(const Plot& plot) {
    check(plot);
    int rows = 0;
    const std::string names = legend(plot, rows);
    const Paper paper = paper_of(plot, rows);
    return svg_document(kWidth, kHeight, plot.title,
                        svg_text(kLeftMargin, 22, plot.title, "start", "class=\"title\"") + names +
                            axes(plot, paper) + marks(plot, paper));
}

}  // namespace tapestry::pictures
