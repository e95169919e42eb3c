// Internal to Tapestry. Diagrams: boxes, arrows, cells and words, laid out by hand, in two
// languages. A drawing checks itself: words that are wider than their box, lie outside the paper or
// on other words, and lines that run through words are errors, because a change may affect pictures
// that are not looked at. (The width of words depends on the reader's font; some room is left.)
//
// Words are "English|中文", or the same in both. `x_i` and `x_{t-1}` become subscripts, `__` is an
// underscore.
//
//     Drawing d({640, 120}, "A loop|一个循环", language);
//     d.draw(R"(
//     blue box model 20 40 120 36 the model|模型
//     orange box loss 200 40 80 36 the loss|损失
//     arrow model loss)");
#pragma once

#include <tapestry/core/text/svg.h>

#include <map>
#include <string>
#include <vector>

namespace tapestry::pictures {

enum class Language { english, chinese };

Point operator+(Point a, Point b);

struct Rect {
    double x = 0, y = 0, width = 0, height = 0;

    /// The middle of a side, or a place `share` of the way along it.
    Point top(double share = 0.5) const { return {x + share * width, y}; }
    Point bottom(double share = 0.5) const { return {x + share * width, y + height}; }
    Point left(double share = 0.5) const { return {x, y + share * height}; }
    Point right(double share = 0.5) const { return {x + width, y + share * height}; }
    Point centre() const { return {x + width / 2, y + height / 2}; }
};

/// Numbers of colours (svg.h): kInk if none applies.
inline constexpr int kBlue = 0, kOrange = 1, kGreen = 2, kPink = 3, kYellow = 4, kInk = 5;

struct TextStyle {
    std::string anchor = "middle";  ///< start, middle or end
    int colour = -1;                ///< that of text, where it is -1
    bool bold = false;
    double size = 12;
};

struct LineStyle {
    int colour = kInk;
    bool dashed = false;
    double width = 1.5;
};

class Drawing {
public:
    struct Size {
        int width, height;
    };

    /// With the title written at the top, where `y` below 34 is its place.
    Drawing(Size size, std::string_view title, Language language);

    /// Draws a script (script.cpp), each line of which is
    ///
    ///     [STYLE ...] KIND ITEM [ ; ITEM ...]
    ///
    /// where STYLE is a colour, dashed, bold, start, end or a size (11px). The items of each KIND:
    ///
    ///     box     NAME X Y WIDTH HEIGHT WORDS      - for no name; \n in words is a new line
    ///     text    POINT WORDS                      POINT: 20,40, where a name is its box's centre
    ///     circle  POINT RADIUS WORDS
    ///     bar     X Y WIDTH HEIGHT
    ///     arrow   PLACE PLACE ...                  PLACE: a POINT, a box (its side that faces the
    ///     line    PLACE PLACE ...                  next place) or one of its sides: loss.top@0.2
    ///
    /// Coordinates are relative to `origin`. Throws ValueError for an invalid script.
    void draw(std::string_view script, Point origin = {});

    /// A box with words in its middle. Returns its place, for arrows.
    Rect box(const Rect& place, std::string_view words, int colour = kInk,
             const TextStyle& style = {});
    /// Words; the first line is centred at this point.
    void text(Point middle, std::string_view words, const TextStyle& style = {});
    void arrow(const std::vector<Point>& way, const LineStyle& style = {});
    void line(const std::vector<Point>& way, const LineStyle& style = {});
    void circle(Point centre, double radius, std::string_view words, int colour = kInk);
    /// A filled bar without words, as deep in its colour as `depth` between 0 and 1.
    void bar(const Rect& place, int colour, double depth = 0.55);

    /// Throws ValueError with the first thing that is wrong with it.
    std::string svg() const;

private:
    std::string in_language(std::string_view words) const;
    void write(Point middle, const std::string& line, const TextStyle& style);

    Size size_;
    Language language_;
    std::string title_;
    std::string body_;
    std::map<std::string, Rect, std::less<>> boxes_;  // those of scripts, by name
    std::vector<Rect> written_;                       // where words are
    std::vector<std::string> words_;                  // which
    std::vector<std::pair<Point, Point>> drawn_;      // pieces of lines
};

/// The approximate width of a line of text.
double width_of(std::string_view line, double size);

}  // namespace tapestry::pictures
