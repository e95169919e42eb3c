// The values behind the claims of an experiment, a row for each claim: a dot for every seed, their
// mean with its interval, and the side of the bound on which the rule is obeyed. Rows have
// different units, so each has its own axis. Read plot.h first.
#include <tapestry/core/text/svg.h>
#include <tapestry/examples/school/experiments/plot.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <sstream>

namespace tapestry::experiments {
namespace {

using namespace pictures;

// Numbers and what decides are written to the left of the axis.
constexpr double kPage = 640, kAxisLeft = 246, kAxisRight = 628, kTextLeft = 12;
constexpr double kDots = 30, kStrip = 44;  // heights: of the dots, and with the interval below them
constexpr const char *kSmall = "style=\"font-size:11px\"", *kBold = "style=\"font-weight:bold\"";

/// A row's axis, from its lower end to its upper one.
struct Scale {
    double low = 0, high = 1;

    bool has(double value) const { return low <= value && value <= high; }
    /// The place of a number; one outside the axis is at its nearer end.
    double x(double value) const {
        const double share = (std::clamp(value, low, high) - low) / (high - low);
        return kAxisLeft + share * (kAxisRight - kAxisLeft);
    }
};

std::vector<double> finite_of(const std::vector<double>& values) {
    std::vector<double> finite;
    for (const double value : values) {
        if (std::isfinite(value)) finite.push_back(value);
    }
    return finite;
}

// Fits the values and their interval, and a bound that is not far from them: a far one would press
// the values into one point. Values that are the same have nothing else to show than that bound.
Scale scale_of(const Rule& rule, const Interval& measured) {
    std::vector<double> shown = finite_of(measured.values);
    for (const double end : finite_of({measured.low, measured.high})) shown.push_back(end);
    double low = *std::ranges::min_element(shown), high = *std::ranges::max_element(shown);
    const double near = 2 * (high - low), from = low, to = high;
    for (const double bound : finite_of({rule.low, rule.high})) {
        const bool is_far = bound < from - near || bound > to + near;
        if (is_far && !is_same_in_all(measured)) continue;
        low = std::min(low, bound);
        high = std::max(high, bound);
    }
    if (high - low <= 1e-9 * std::abs(high)) {  // as far as doubles can tell, one number
        const double around = high == 0 ? 1 : std::abs(high) / 10;
        low -= around;
        high += around;
    }
    const double margin = (high - low) / 20;
    const double step = std::pow(10.0, std::floor(std::log10(high - low)) - 1);
    constexpr double kRounding = 1e-6;  // 0.89 / 0.01 is less than 89
    return {std::floor((low - margin) / step + kRounding) * step,
            std::ceil((high + margin) / step - kRounding) * step};
}

std::string end_label(double end, const Scale& scale) {
    const double rounding = (scale.high - scale.low) * 1e-9;  // 3 x 0.1 is no end, 0.3 is
    return tick_label(std::abs(end) < rounding ? 0 : end);
}

// Lines of at most 37 characters.
std::vector<std::string> lines_of(const std::string& text) {
    constexpr std::size_t kMost = 37;
    std::istringstream words(text);
    std::vector<std::string> lines;
    for (std::string word; words >> word;) {
        if (lines.empty() || lines.back().size() + 1 + word.size() > kMost) {
            lines.push_back(word);
        } else {
            lines.back() += " " + word;
        }
    }
    return lines;
}

// A bound, or an arrow at the end of the axis beyond which it is.
std::string drawn_bound(double bound, const Scale& scale, double top) {
    const double x = scale.x(bound), middle = top + (kDots + kStrip) / 2;
    if (scale.has(bound)) {
        return svg_path({{x, top}, {x, top + kStrip}}, "class=\"c1\" stroke-dasharray=\"4 3\"");
    }
    const double inwards = bound < scale.low ? 8 : -8;
    return svg_polygon({{x, middle}, {x + inwards, middle - 5}, {x + inwards, middle + 5}},
                       "class=\"f1\"");
}

// Equal values are not on top of one another: a seed's height follows from its place among the
// seeds, in strides that visit every height once.
std::string drawn_dots(const std::vector<double>& values, const Scale& scale, double top) {
    const std::size_t n = values.size();
    std::size_t stride = n * 5 / 8;
    while (std::gcd(stride, n) != 1) ++stride;
    std::string out;
    for (std::size_t i = 0; i < n; ++i) {
        if (!std::isfinite(values[i])) continue;
        const double share = static_cast<double>(i * stride % n) / static_cast<double>(n);
        out += svg_circle({scale.x(values[i]), top + 5 + share * (kDots - 5)}, 3,
                          "class=\"f0 grid\" fill-opacity=\"0.85\"");
    }
    return out;
}

std::string drawn_interval(const Interval& measured, const Scale& scale, double top) {
    if (!std::isfinite(measured.mean)) return "";
    const double y = top + (kDots + kStrip) / 2, mean = scale.x(measured.mean);
    std::string out;
    if (std::isfinite(measured.half_width())) {
        const double low = scale.x(measured.low), high = scale.x(measured.high);
        out += svg_path({{low, y}, {high, y}}, "class=\"c5\"");
        for (const double end : {low, high}) {
            out += svg_path({{end, y - 4}, {end, y + 4}}, "class=\"c5\"");
        }
    }
    return out + svg_polygon({{mean - 5, y}, {mean, y - 5}, {mean + 5, y}, {mean, y + 5}},
                             "class=\"f5\"");
}

// The strip of a row, its bounds, values and interval, and its axis.
std::string drawn_strip(const Rule& rule, const Interval& measured, double top) {
    const Scale scale = scale_of(rule, measured);
    const double from = scale.x(rule.low), to = scale.x(rule.high);
    std::string out =
        svg_rect(kAxisLeft, top, kAxisRight - kAxisLeft, kStrip, "class=\"grid\" fill=\"none\"");
    if (to > from) {
        out += svg_rect(from, top, to - from, kStrip, "class=\"f2\" fill-opacity=\"0.18\"");
    }
    for (const double bound : finite_of({rule.low, rule.high})) {
        out += drawn_bound(bound, scale, top);
    }
    out += drawn_dots(measured.values, scale, top) + drawn_interval(measured, scale, top);
    const double y = top + kStrip + 12;
    out += svg_text(kAxisLeft, y, end_label(scale.low, scale), "start", kSmall);
    out += svg_text(kAxisRight, y, end_label(scale.high, scale), "end", kSmall);
    const auto wrong = measured.values.size() - finite_of(measured.values).size();
    return out + svg_text((kAxisLeft + kAxisRight) / 2, y,
                          fmt::format("{} values{}; rule: {}", measured.values.size(),
                                      wrong == 0 ? "" : fmt::format(", {} not finite", wrong),
                                      text_of(rule)),
                          "middle", kSmall);
}

std::string drawn_key(double y) {
    const double up = y - 4;
    const auto text = [y](double x, const char* words) {
        return svg_text(x, y, words, "start", kSmall);
    };
    return svg_circle({18, up}, 3, "class=\"f0\"") + text(28, "a seed") +
           svg_path({{92, up}, {112, up}}, "class=\"c5\"") +
           svg_polygon({{97, up}, {102, up - 5}, {107, up}, {102, up + 5}}, "class=\"f5\"") +
           text(118, "mean, 95 % interval") +
           svg_rect(256, up - 6, 16, 12, "class=\"f2\" fill-opacity=\"0.18\"") +
           text(278, "rule obeyed") +
           svg_path({{370, up - 7}, {370, up + 7}}, "class=\"c1\" stroke-dasharray=\"4 3\"") +
           text(378, "its bound") +
           svg_polygon({{456, up}, {464, up - 5}, {464, up + 5}}, "class=\"f1\"") +
           text(472, "bound farther off");
}

}  // namespace

std::optional<Figure> seeds_figure(const Experiment& experiment, const Report& report) {
    const std::vector<Judged> claims = judged(experiment, report);
    const std::vector<Verdict> corrected = judge_together(claims);
    const std::string title = experiment.name + ": the values of all seeds";
    std::string body = svg_text(kTextLeft, 22, title, "start", "class=\"title\"") + drawn_key(44);
    double top = 62;
    const double first = top;
    for (std::size_t i = 0; i < claims.size(); ++i) {
        const Interval& measured = claims[i].measured;
        if (finite_of(measured.values).empty()) continue;
        const Claim& claim = experiment.claims[i];
        const Verdict verdict = claims[i].verdict();
        body += svg_text(kTextLeft, top + 12, claim.name, "start", kBold);
        body += svg_text_element(
            kAxisRight, top + 12,
            fmt::format(
                "mean {:.3g}: <tspan {}>{}</tspan>{}", measured.mean, kBold, text_of(verdict),
                corrected[i] == verdict ? ""
                                        : fmt::format(" (corrected: {})", text_of(corrected[i]))),
            "end", "");
        double y = top + 18;
        body += drawn_strip(claim.rule, measured, y);
        for (const std::string& line : lines_of(claim.number)) {
            body += svg_text(kTextLeft, y += 13, line, "start", kSmall);
        }
        top += 18 + kStrip + 26;
    }
    if (top == first) return {};
    return Figure{
        "seeds",
        "What decided each claim: the value of every seed (dots), their mean and its 95 % "
        "interval; green: where the rule is obeyed",
        svg_document(static_cast<int>(kPage), static_cast<int>(top), title, body)};
}

}  // namespace tapestry::experiments
