// Boxes, arrows and words, and what may be wrong with them. Read drawing.h first.
#include <tapestry/examples/school/pictures/drawing.h>

#include <tapestry/core/error.h>

#include <algorithm>
#include <cmath>

namespace tapestry::pictures {
namespace {

// The lines of a text.
std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::size_t from = 0;
    for (std::size_t at = 0; at <= text.size(); ++at) {
        if (at < text.size() && text[at] != '\n') continue;
        lines.push_back(text.substr(from, at - from));
        from = at + 1;
    }
    return lines;
}

struct Piece {
    std::string text;
    bool below;
};

// "W_Q x" as "W", a subscript "Q", " x"; "a__b" has an underscore.
std::vector<Piece> pieces_of(std::string_view line) {
    std::vector<Piece> pieces{{"", false}};
    for (std::size_t i = 0; i < line.size(); ++i) {
        if (line[i] != '_' || line.substr(i, 2) == "__") {
            pieces.back().text += line[i];
            i += line[i] == '_' ? 1 : 0;
            continue;
        }
        const bool braced = line[i + 1] == '{';
        const std::size_t begin = i + (braced ? 2 : 1);
        const std::size_t end = braced ? line.find('}', begin) : begin + 1;
        pieces.push_back({std::string(line.substr(begin, end - begin)), true});
        pieces.push_back({"", false});
        i = braced ? end : end - 1;
    }
    return pieces;
}

constexpr double kSmaller = 0.78, kLower = 3;  // a subscript

std::string marked_up(std::string_view line, double size) {
    std::string out;
    bool low = false;  // where the pen is
    for (const Piece& piece : pieces_of(line)) {
        if (piece.text.empty()) continue;
        if (piece.below) {
            out += fmt::format("<tspan dy=\"{}\" font-size=\"{:.1f}px\">{}</tspan>", kLower,
                               kSmaller * size, escaped_xml(piece.text));
        } else if (low) {
            out += fmt::format("<tspan dy=\"-{}\">{}</tspan>", kLower, escaped_xml(piece.text));
        } else {
            out += escaped_xml(piece.text);
        }
        low = piece.below;
    }
    return out;
}

// Shares of the size, of a common sans-serif.
double width_of_letter(char c) {
    if (std::string_view("iljI.,:;'|!").find(c) != std::string_view::npos) return 0.28;
    if (std::string_view("ftr()[]/- ").find(c) != std::string_view::npos) return 0.37;
    if (std::string_view("mwMW@%").find(c) != std::string_view::npos) return 0.85;
    return c >= 'A' && c <= 'Z' ? 0.68 : 0.57;
}

bool overlap(const Rect& a, const Rect& b) {
    return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height &&
           b.y < a.y + a.height;
}

// Does a line from one point to the other run through the place?
bool crosses(const Rect& place, Point from, Point to) {
    const double steps = std::ceil(std::hypot(to.x - from.x, to.y - from.y)) + 1;
    for (double i = 0; i <= steps; ++i) {
        const double x = from.x + (to.x - from.x) * i / steps;
        const double y = from.y + (to.y - from.y) * i / steps;
        if (overlap(place, {x, y, 0, 0})) return true;
    }
    return false;
}

}  // namespace

Point operator+(Point a, Point b) { return {a.x + b.x, a.y + b.y}; }

double width_of(std::string_view line, double size) {
    double width = 0;
    for (const Piece& piece : pieces_of(line)) {
        double letters = 0;
        for (const char c : piece.text) {
            const auto byte = static_cast<unsigned char>(c);
            if (byte < 0x80) letters += width_of_letter(c);
            if (byte >= 0xe3) letters += 1;  // the first byte of a Chinese character
            if (byte >= 0xc0 && byte < 0xe3) letters += 0.6;  // of a Greek letter, an arrow, ...
        }
        width += letters * size * (piece.below ? kSmaller : 1);
    }
    return width;
}

Drawing::Drawing(Size size, std::string_view title, Language language)
    : size_(size), language_(language), title_(in_language(title)) {
    write({16, 18}, title_, {.anchor = "start", .bold = true, .size = 14});
}

std::string Drawing::in_language(std::string_view words) const {
    const std::size_t bar = words.find('|');
    if (bar == std::string_view::npos) return std::string(words);
    return std::string(language_ == Language::english ? words.substr(0, bar)
                                                      : words.substr(bar + 1));
}

void Drawing::write(Point middle, const std::string& line, const TextStyle& style) {
    if (line.empty()) return;
    const double width = width_of(line, style.size) * (style.bold ? 1.08 : 1);
    double left = middle.x - width / 2;
    if (style.anchor == "start") left = middle.x;
    if (style.anchor == "end") left = middle.x - width;
    written_.push_back({left, middle.y - style.size / 2, width, style.size});
    words_.push_back(line);
    std::string extra;
    if (style.colour >= 0) extra += fmt::format("class=\"f{}\" ", style.colour);
    std::string css;
    if (style.size != 12) css += fmt::format("font-size:{}px;", style.size);
    if (style.bold) css += "font-weight:bold;";
    if (!css.empty()) extra += fmt::format("style=\"{}\"", css);
    body_ += svg_text_element(middle.x, middle.y + 0.35 * style.size, marked_up(line, style.size),
                              style.anchor, extra);
}

void Drawing::text(Point middle, std::string_view words, const TextStyle& style) {
    for (const std::string& line : lines_of(in_language(words))) {
        write(middle, line, style);
        middle.y += 1.3 * style.size;
    }
}

Rect Drawing::box(const Rect& place, std::string_view words, int colour, const TextStyle& style) {
    body_ += svg_rect(place.x, place.y, place.width, place.height,
                      fmt::format("rx=\"5\" class=\"c{0} f{0}\" fill-opacity=\"0.14\"", colour));
    const std::vector<std::string> lines = lines_of(in_language(words));
    for (const std::string& line : lines) {
        require<ValueError>(width_of(line, style.size) <= place.width - 4,
                            "picture '{}': '{}' is {:.0f} wide, its box {}", title_, line,
                            width_of(line, style.size), place.width);
    }
    const double first = -0.65 * style.size * static_cast<double>(lines.size() - 1);
    text(place.centre() + Point{0, first}, words, style);
    return place;
}

void Drawing::line(const std::vector<Point>& way, const LineStyle& style) {
    for (std::size_t i = 1; i < way.size(); ++i) drawn_.emplace_back(way[i - 1], way[i]);
    body_ +=
        svg_path(way, fmt::format("class=\"c{}\" style=\"stroke-width:{}\"{}", style.colour,
                                  style.width, style.dashed ? " stroke-dasharray=\"5 4\"" : ""));
}

void Drawing::arrow(const std::vector<Point>& way, const LineStyle& style) {
    const Point tip = way.back(), before = way[way.size() - 2];
    const double length = std::hypot(tip.x - before.x, tip.y - before.y);
    const Point along{(tip.x - before.x) / length, (tip.y - before.y) / length};
    std::vector<Point> shaft = way;
    shaft.back() = tip + Point{-6 * along.x, -6 * along.y};
    line(shaft, style);
    drawn_.back().second = tip;
    const Point base = tip + Point{-8 * along.x, -8 * along.y};
    body_ += svg_polygon({tip,
                          {base.x - 4 * along.y, base.y + 4 * along.x},
                          {base.x + 4 * along.y, base.y - 4 * along.x}},
                         fmt::format("class=\"f{}\"", style.colour));
}

void Drawing::circle(Point centre, double radius, std::string_view words, int colour) {
    body_ += svg_circle(centre, radius,
                        fmt::format("class=\"c{0} f{0}\" fill-opacity=\"0.14\"", colour));
    text(centre, words);
}

void Drawing::bar(const Rect& place, int colour, double depth) {
    body_ += svg_rect(place.x, place.y, place.width, place.height,
                      fmt::format("class=\"f{}\" fill-opacity=\"{:.2f}\"", colour, depth));
}

std::string Drawing::svg() const {
    for (std::size_t i = 0; i < written_.size(); ++i) {
        const Rect& a = written_[i];
        require<ValueError>(a.x >= 2 && a.y >= 2 && a.x + a.width <= size_.width - 2 &&
                                a.y + a.height <= size_.height - 2,
                            "picture '{}': '{}' does not lie on the paper", title_, words_[i]);
        for (std::size_t j = 0; j < i; ++j) {
            require<ValueError>(!overlap(a, written_[j]), "picture '{}': '{}' lies on '{}'", title_,
                                words_[i], words_[j]);
        }
        for (const auto& [from, to] : drawn_) {
            require<ValueError>(!crosses(a, from, to), "picture '{}': a line runs through '{}'",
                                title_, words_[i]);
        }
    }
    return svg_document(size_.width, size_.height, title_, body_);
}

}  // namespace tapestry::pictures
