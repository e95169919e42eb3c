// A grid of cells, each as deep in colour as its number is far from 0: one colour above 0, another
// below. Read plot.h first.
#include <tapestry/core/error.h>
#include <tapestry/core/text/svg.h>
#include <tapestry/examples/school/experiments/plot.h>

#include <algorithm>
#include <cmath>

namespace tapestry::experiments {
namespace {

using namespace pictures;

constexpr double kTop = 66, kRight = 20, kBottom = 40, kDeepest = 0.53;  // text stays legible on it

double largest(const HeatMap& map) {
    double most = 0;
    for (const auto& row : map.values) {
        for (const double value : row) {
            if (std::isfinite(value)) most = std::max(most, std::abs(value));
        }
    }
    return most;
}

void check(const HeatMap& map) {
    require<ValueError>(!map.values.empty() && map.values.size() == map.rows.size(),
                        "heat map '{}': {} rows of values, {} names", map.title, map.values.size(),
                        map.rows.size());
    const bool has_intervals = !map.half_widths.empty();
    for (const auto& row : map.values) {
        const auto r = static_cast<std::size_t>(&row - map.values.data());
        const bool fits = !has_intervals || (map.half_widths.size() == map.values.size() &&
                                             map.half_widths[r].size() == row.size());
        require<ValueError>(fits, "heat map '{}': intervals for {} rows of {} values", map.title,
                            map.values.size(), row.size());
        require<ValueError>(!row.empty() && row.size() == map.columns.size(),
                            "heat map '{}': a row of {} values, {} columns", map.title, row.size(),
                            map.columns.size());
    }
}

double letters(const std::vector<std::string>& names) {
    std::size_t most = 0;
    for (const std::string& name : names) most = std::max(most, name.size());
    return 7.0 * static_cast<double>(most);
}

struct Place {
    double x, y, width, height;
};

// `half_width`: null without intervals.
std::string cell(const Place& place, double value, const double* half_width, double most,
                 bool number) {
    const auto [x, y, width, height] = place;
    std::string out;
    if (std::isfinite(value) && most > 0) {
        out = svg_rect(x, y, width - 1, height - 1,
                       fmt::format("class=\"f{}\" fill-opacity=\"{:.3f}\"", value < 0 ? 1 : 0,
                                   kDeepest * std::abs(value) / most));
    }
    if (number) {
        out += svg_text(x + width / 2, y + height / 2 + (half_width != nullptr ? -3 : 4),
                        std::isfinite(value) ? fmt::format("{:.2f}", value) : "-", "middle");
    }
    if (number && half_width != nullptr && std::isfinite(*half_width)) {
        out += svg_text(x + width / 2, y + height / 2 + 11,
                        fmt::format("\u00b1{:.2f}", *half_width), "middle");
    }
    return out;
}

}  // namespace

std::string svg(const HeatMap& map) {
    check(map);
    const double left = 40 + letters(map.rows);
    const auto columns = static_cast<double>(map.columns.size());
    const auto rows = static_cast<double>(map.rows.size());
    const double width = std::clamp(
        560 / columns, std::max(map.numbers ? 36.0 : 6.0, letters(map.columns) + 4), 90.0);
    const bool has_intervals = !map.half_widths.empty();
    const double height = has_intervals ? 36 : std::clamp(width, map.numbers ? 24.0 : 6.0, 34.0);
    const double bottom = kTop + rows * height;
    std::string body = svg_text(16, 22, map.title, "start", "class=\"title\"");
    for (std::size_t c = 0; c < map.columns.size(); ++c) {
        body += svg_text(left + (static_cast<double>(c) + 0.5) * width, kTop - 6, map.columns[c],
                         "middle");
    }
    for (std::size_t r = 0; r < map.rows.size(); ++r) {
        const double y = kTop + static_cast<double>(r) * height;
        body += svg_text(left - 6, y + height / 2 + 4, map.rows[r], "end");
        for (std::size_t c = 0; c < map.columns.size(); ++c) {
            body +=
                cell({left + static_cast<double>(c) * width, y, width, height}, map.values[r][c],
                     has_intervals ? &map.half_widths[r][c] : nullptr, largest(map), map.numbers);
        }
    }
    body += svg_text(left + columns * width / 2, bottom + 20, map.x_label, "middle");
    const double middle = (kTop + bottom) / 2;
    body += svg_text(16, middle, map.y_label, "middle",
                     fmt::format("transform=\"rotate(-90 16 {:.1f})\"", middle));
    const double title = 32 + 8.5 * static_cast<double>(map.title.size());
    return svg_document(
        static_cast<int>(std::ceil(std::max(left + columns * width + kRight, title))),
        static_cast<int>(std::ceil(bottom + kBottom)), map.title, body);
}

}  // namespace tapestry::experiments
