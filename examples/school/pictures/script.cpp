// Reads the scripts of drawings. Read Drawing::draw in drawing.h first.
#include <tapestry/core/error.h>
#include <tapestry/examples/school/pictures/drawing.h>

#include <charconv>
#include <optional>

namespace tapestry::pictures {
namespace {

using Boxes = std::map<std::string, Rect, std::less<>>;

// The part of `rest` before `end`, which is taken off it with `end`.
std::string_view take(std::string_view& rest, std::string_view end) {
    const std::size_t at = rest.find(end);
    const std::string_view part = rest.substr(0, at);
    rest.remove_prefix(at == std::string_view::npos ? rest.size() : at + end.size());
    return part;
}

std::optional<double> number(std::string_view text) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) return {};
    return value;
}

// The middle of the side of `a` that faces `b`.
Point facing(const Rect& a, const Rect& b) {
    if (b.x >= a.x + a.width) return a.right();
    if (b.x + b.width <= a.x) return a.left();
    return b.centre().y > a.centre().y ? a.bottom() : a.top();
}

struct Reader {
    const Boxes& boxes;
    Point origin;

    const Rect& box(std::string_view name) const {
        const auto found = boxes.find(name);
        require<ValueError>(found != boxes.end(), "picture: no box '{}'", name);
        return found->second;
    }

    double count(std::string_view text) const {
        const std::optional<double> value = number(text);
        require<ValueError>(value.has_value(), "picture: expected a number, found '{}'", text);
        return *value;
    }

    Point point(std::string_view text) const {
        const std::string_view x = take(text, ",");
        const std::optional<double> at_x = number(x), at_y = number(text);
        return {at_x ? *at_x + origin.x : box(x).centre().x,
                at_y ? *at_y + origin.y : box(text).centre().y};
    }

    Rect rect(std::string_view& rest) const {
        double values[4];
        for (double& value : values) value = count(take(rest, " "));
        return {values[0] + origin.x, values[1] + origin.y, values[2], values[3]};
    }

    // A box, or a rectangle without a size.
    Rect place(std::string_view text) const {
        if (text.find(',') != std::string_view::npos) {
            const Point at = point(text);
            return {at.x, at.y, 0, 0};
        }
        const Rect& whole = box(take(text, "."));
        if (text.empty()) return whole;
        const std::string_view side = take(text, "@");
        const double share = text.empty() ? 0.5 : count(text);
        const Point at = side == "top"      ? whole.top(share)
                         : side == "bottom" ? whole.bottom(share)
                         : side == "left"   ? whole.left(share)
                                            : whole.right(share);
        return {at.x, at.y, 0, 0};
    }

    std::vector<Point> way(std::string_view item) const {
        std::vector<Rect> places;
        while (!item.empty()) places.push_back(place(take(item, " ")));
        require<ValueError>(places.size() > 1, "picture: a line from nowhere or to nowhere");
        std::vector<Point> points;
        for (std::size_t i = 0; i < places.size(); ++i) {
            points.push_back(facing(places[i], places[i == 0 ? 1 : i - 1]));
        }
        return points;
    }
};

struct Style {
    int colour = -1;
    bool dashed = false;
    TextStyle text = {};

    // False if the word is not a style.
    bool read(std::string_view word) {
        static constexpr std::string_view kNames[] = {"blue", "orange", "green",
                                                      "pink", "yellow", "ink"};
        for (int i = 0; i < kColours; ++i) {
            if (word == kNames[i]) return colour = i, true;
        }
        if (word == "dashed") return dashed = true;
        if (word == "bold") return text.bold = true;
        if (word == "start" || word == "end") return text.anchor = word, true;
        if (!word.ends_with("px")) return false;
        text.size = number(word.substr(0, word.size() - 2)).value_or(12);
        return true;
    }
};

std::string with_breaks(std::string_view words) {
    std::string result;
    while (!words.empty()) {
        result += take(words, "\\n");
        if (!words.empty()) result += '\n';
    }
    return result;
}

}  // namespace

void Drawing::draw(std::string_view script, Point origin) {
    const Reader reader{boxes_, origin};
    while (!script.empty()) {
        std::string_view line_left = take(script, "\n");
        if (line_left.empty()) continue;
        Style style;
        std::string_view kind = take(line_left, " ");
        while (style.read(kind)) kind = take(line_left, " ");
        const int colour = style.colour < 0 ? kInk : style.colour;
        while (!line_left.empty()) {
            std::string_view item = take(line_left, " ; ");
            if (kind == "box") {
                const std::string_view name = take(item, " ");
                const Rect place = reader.rect(item);
                boxes_[std::string(name)] = box(place, with_breaks(item), colour, style.text);
            } else if (kind == "text") {
                style.text.colour = style.colour;
                const Point middle = reader.point(take(item, " "));
                text(middle, with_breaks(item), style.text);
            } else if (kind == "circle") {
                const Point centre = reader.point(take(item, " "));
                const double radius = reader.count(take(item, " "));
                circle(centre, radius, item, colour);
            } else if (kind == "bar") {
                bar(reader.rect(item), colour);
            } else {
                require<ValueError>(kind == "arrow" || kind == "line",
                                    "picture '{}': expected box, text, ..., found '{}'", title_,
                                    kind);
                const LineStyle drawn{.colour = colour, .dashed = style.dashed};
                kind == "arrow" ? arrow(reader.way(item), drawn) : line(reader.way(item), drawn);
            }
        }
    }
}

}  // namespace tapestry::pictures
