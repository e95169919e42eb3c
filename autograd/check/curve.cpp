#include <tapestry/autograd/check/curve.h>

#include <tapestry/autograd/check/compare.h>
#include <tapestry/autograd/check/quotients.h>
#include <tapestry/core/create.h>

#include <algorithm>
#include <cmath>

namespace tapestry {

using namespace checker;

ErrorCurve error_curve(const std::function<Tensor()>& f, const NamedTensors& leaves,
                       std::size_t which, std::uint64_t seed) {
    require<IndexError>(which < leaves.size(), "error_curve: no leaf {} among {}", which,
                        leaves.size());
    Subject subject([&f] { return Tensors{f()}; }, leaves);
    const auto weights = random_weights(subject.outputs(), seed);
    const auto x = leaves[which].second.to_vector<double>();
    const auto u = random_direction(x, seed);
    const Neighbourhood around = subject.look_around(seed);
    const ClaimedGradient gradient{weights, subject.gradient(weights)[which], {}};
    const Claim claim = claim_along(gradient, u);
    Line line = subject.along(which, u, 1);
    return {leaves[which].first, claim.slope, Quotients(line, weights, around).curve(claim.slope)};
}

namespace {

constexpr double kWidth = 640, kHeight = 420, kLeft = 70, kTop = 40, kRight = 20, kBottom = 56;
// Colours that those who do not tell red from green can tell apart (Okabe and Ito 2008), darker
// where they were too pale on white.
constexpr const char* kColours[] = {"#0072b2", "#c15300", "#007f5f", "#b0558f", "#8a6d00"};

// Powers of ten to places on the page.
struct Axis {
    double low, high;    // log10
    double from, until;  // on the page
    double at(double value) const {
        const double x = std::clamp(std::log10(std::max(value, 1e-300)), low, high);
        return from + (x - low) / (high - low) * (until - from);
    }
};

std::string polyline(const std::vector<CurvePoint>& points, const Axis& x, const Axis& y,
                     double CurvePoint::*what, const char* style) {
    std::string places;
    for (const CurvePoint& point : points) {
        places += fmt::format("{:.1f},{:.1f} ", x.at(point.step), y.at(point.*what));
    }
    return fmt::format("<polyline points=\"{}\" fill=\"none\" {}/>\n", places, style);
}

std::string text(double x, double y, const std::string& words, const char* more = "") {
    return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" {}>{}</text>\n", x, y, more, words);
}

std::string escaped(const std::string& words) {
    std::string safe;
    for (const char c : words) {
        safe += c == '<' ? "&lt;" : c == '&' ? "&amp;" : std::string(1, c);
    }
    return safe;
}

std::string grid(const Axis& x, const Axis& y) {
    std::string svg;
    for (double power = std::ceil(x.low); power <= x.high; power += 2) {
        const double place = x.at(std::pow(10, power));
        svg += fmt::format("<line x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1}\" y2=\"{2}\"/>\n", place,
                           kTop, kHeight - kBottom);
        svg += text(place, kHeight - kBottom + 18, fmt::format("1e{:.0f}", power),
                    "text-anchor=\"middle\"");
    }
    for (double power = std::ceil(y.low); power <= y.high; power += 2) {
        const double place = y.at(std::pow(10, power));
        svg += fmt::format("<line x1=\"{1}\" x2=\"{2}\" y1=\"{0:.1f}\" y2=\"{0:.1f}\"/>\n", place,
                           kLeft, kWidth - kRight);
        svg += text(kLeft - 8, place + 4, fmt::format("1e{:.0f}", power), "text-anchor=\"end\"");
    }
    return svg;
}

}  // namespace

std::string to_svg(const std::vector<ErrorCurve>& curves) {
    double least = 1e300, most = 1e-300, smallest = 1e300, largest = 1e-300;
    for (const ErrorCurve& curve : curves) {
        for (const CurvePoint& point : curve.points) {
            smallest = std::min(smallest, point.step);
            largest = std::max(largest, point.step);
            for (const double value : {point.difference, point.noise}) {
                if (value > 0 && std::isfinite(value)) {
                    least = std::min(least, value);
                    most = std::max(most, value);
                }
            }
        }
    }
    if (!(smallest <= largest)) smallest = largest = 1;
    if (!(least <= most)) least = most = 1;
    const Axis x{std::floor(std::log10(smallest)), std::ceil(std::log10(largest)) + 0.01, kLeft,
                 kWidth - kRight};
    const Axis y{std::floor(std::log10(least)), std::ceil(std::log10(most)) + 0.01,
                 kHeight - kBottom, kTop};
    std::string svg = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" "
        "height=\"{1}\" font-family=\"sans-serif\" font-size=\"12\">\n"
        "<style>svg {{ background: #fff; fill: #222; }} line {{ stroke: #ddd; }}\n"
        "@media (prefers-color-scheme: dark) {{ svg {{ background: #161616; fill: #ddd; }} "
        "line {{ stroke: #444; }} }}</style>\n",
        kWidth, kHeight);
    svg += grid(x, y);
    svg += text(kWidth / 2, kHeight - 12, "step h", "text-anchor=\"middle\"");
    svg += text(12, 20, "|difference quotient - claimed slope|; dashed: what rounding explains");
    double row = kTop + 14;
    for (std::size_t i = 0; i < curves.size(); ++i) {
        const char* colour = kColours[i % std::size(kColours)];
        svg += polyline(curves[i].points, x, y, &CurvePoint::difference,
                        fmt::format("stroke=\"{}\" stroke-width=\"2\"", colour).c_str());
        svg += polyline(
            curves[i].points, x, y, &CurvePoint::noise,
            fmt::format("stroke=\"{}\" stroke-dasharray=\"4 4\" opacity=\"0.7\"", colour).c_str());
        svg += text(kLeft + 190, row,
                    fmt::format("{}, claimed {:.6g}", escaped(curves[i].title), curves[i].claimed),
                    fmt::format("fill=\"{}\"", colour).c_str());
        row += 16;
    }
    return svg + "</svg>\n";
}

}  // namespace tapestry
