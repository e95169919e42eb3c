// Colours, text and frame of a picture. Read svg.h first.
#include <tapestry/core/text/svg.h>

#include <fmt/format.h>

#include <cmath>

namespace tapestry::pictures {
namespace {

// Colours that the colour-blind tell apart. Source: Okabe and Ito, "Color Universal Design", 2008;
// for dark paper made lighter, for light paper darker where they were too pale to draw lines with.
struct Pair {
    const char* light;
    const char* dark;
};
constexpr Pair kPalette[kMostColours] = {
    {"#0072b2", "#56b4e9"}, {"#c15300", "#ff9a4d"}, {"#007f5f", "#3ddba5"}, {"#b0558f", "#eba6ce"},
    {"#8a6d00", "#f0e060"}, {"#5a5a5a", "#bdbdbd"}, {"#4b2e83", "#b3a4ff"}};

std::string palette(bool dark, int colours) {
    std::string css =
        fmt::format(".paper{{fill:{}}}text{{fill:{}}}.grid{{stroke:{}}}.axis{{stroke:{}}}",
                    dark ? "#15181c" : "#ffffff", dark ? "#e6e6e6" : "#1c1c1c",
                    dark ? "#30363d" : "#e2e2e2", dark ? "#8b949e" : "#6e6e6e");
    for (int i = 0; i < colours; ++i) {
        const char* colour = dark ? kPalette[i].dark : kPalette[i].light;
        css += fmt::format(".c{0}{{stroke:{1}}}.f{0}{{fill:{1}}}", i, colour);
    }
    return css;
}

// "-5" above the line.
std::string superscript(const std::string& number) {
    constexpr const char* kDigits[] = {"\u2070", "\u00b9", "\u00b2", "\u00b3", "\u2074",
                                       "\u2075", "\u2076", "\u2077", "\u2078", "\u2079"};
    std::string text;
    for (const char c : number) text += c == '-' ? "\u207b" : kDigits[c - '0'];
    return text;
}

}  // namespace

std::string escaped_xml(std::string_view text) {
    std::string result;
    for (const char c : text) {
        switch (c) {
            case '&': result += "&amp;"; break;
            case '<': result += "&lt;"; break;
            case '"': result += "&quot;"; break;
            default: result += c;
        }
    }
    return result;
}

std::string svg_text_element(double x, double y, std::string_view content, std::string_view anchor,
                             std::string_view extra) {
    return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\"{}{}>{}</text>\n", x, y,
                       anchor, extra.empty() ? "" : " ", extra, content);
}

std::string svg_text(double x, double y, std::string_view text, std::string_view anchor,
                     std::string_view extra) {
    return svg_text_element(x, y, escaped_xml(text), anchor, extra);
}

std::string svg_rect(double x, double y, double width, double height, std::string_view attributes) {
    return fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" {}/>\n",
                       x, y, width, height, attributes);
}

std::string svg_circle(Point centre, double radius, std::string_view attributes) {
    return fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.1f}\" {}/>\n", centre.x,
                       centre.y, radius, attributes);
}

std::string svg_path(const std::vector<Point>& points, std::string_view attributes) {
    std::string path;
    bool pen_down = false;
    for (const Point& p : points) {
        const bool finite = std::isfinite(p.x) && std::isfinite(p.y);
        if (finite) path += fmt::format("{}{:.1f} {:.1f}", pen_down ? "L" : "M", p.x, p.y);
        pen_down = finite;
    }
    return fmt::format("<path d=\"{}\" {}/>\n", path, attributes);
}

std::string svg_polygon(const std::vector<Point>& corners, std::string_view attributes) {
    std::string points;
    for (const Point& p : corners) {
        points += fmt::format("{}{:.1f},{:.1f}", points.empty() ? "" : " ", p.x, p.y);
    }
    return fmt::format("<polygon points=\"{}\" {}/>\n", points, attributes);
}

std::string svg_document(int width, int height, std::string_view title, const std::string& body) {
    const bool uses_last = body.find("class=\"c6\"") != std::string::npos ||
                           body.find("class=\"f6\"") != std::string::npos;
    const int colours = uses_last ? kMostColours : kColours;
    return fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" "
        "height=\"{1}\" role=\"img\" aria-label=\"{2}\">\n<title>{2}</title>\n"
        "<style>text{{font:12px sans-serif}}.title{{font-size:14px;font-weight:bold}}"
        "path{{fill:none;stroke-width:2;stroke-linejoin:round}}.grid,.axis{{stroke-width:1}}{3}"
        "@media (prefers-color-scheme:dark){{{4}}}</style>\n"
        "<rect class=\"paper\" width=\"{0}\" height=\"{1}\"/>\n{5}</svg>\n",
        width, height, escaped_xml(title), palette(false, colours), palette(true, colours), body);
}

// 0.5, 20000, and 2 times a power of ten: very small numbers and very large ones alike.
std::string tick_label(double value) {
    const double size = std::abs(value);
    if (value == 0) return "0";
    if (size >= 0.9995e-3 && size < 1e6) return fmt::format("{:.5g}", value);
    const std::string text = fmt::format("{:.4e}", value);  // -2.5000e-05
    const std::size_t at = text.find('e');
    std::string mantissa = text.substr(0, at);
    mantissa.erase(mantissa.find_last_not_of('0') + 1);
    if (mantissa.ends_with('.')) mantissa.pop_back();
    const std::string ten = "10" + superscript(std::to_string(std::stoi(text.substr(at + 1))));
    if (mantissa == "1") return ten;
    return mantissa == "-1" ? "-" + ten : fmt::format("{}\u00b7{}", mantissa, ten);
}

}  // namespace tapestry::pictures
