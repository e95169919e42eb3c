// Diagrams: boxes, arrows, cells and words, laid out by hand, in two languages. A drawing looks at
// itself while it is made: words that are wider than their box, lie outside the paper or on other
// words, and lines that run through words are errors, for nobody looks at every picture after every
// change. (How wide words are depends on the reader's font; some room is left.)
//
//     Drawing d({640, 120}, {"A loop", "一个循环"}, language);
//     const Rect model = d.box({20, 40, 120, 36}, {"the model", "模型"}, kBlue);
//     const Rect loss = d.box({200, 40, 80, 36}, {"the loss", "损失"}, kOrange);
//     d.arrow({model.right(), loss.left()});
#pragma once

#include <tapestry/examples/school/pictures/svg.h>

#include <string>
#include <vector>

namespace tapestry::pictures {

enum class Language { english, chinese };

/// The same words in both languages. `x_i` and `x_{t-1}` become subscripts, `__` is an
/// underscore, a line break is one.
struct Words {
    Words(const char* same) : english(same), chinese(same) {}
    Words(std::string same) : english(same), chinese(std::move(same)) {}
    Words(std::string in_english, std::string in_chinese)
        : english(std::move(in_english)), chinese(std::move(in_chinese)) {}

    std::string english, chinese;
};

struct Point {
    double x = 0, y = 0;
};

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

/// Numbers of colours (svg.h): kInk for what is neither one thing nor another.
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
    Drawing(Size size, const Words& title, Language language);

    /// A box with words in its middle; its place again, for arrows.
    Rect box(const Rect& place, const Words& words, int colour = kInk, const TextStyle& style = {});
    /// Words, the first of their lines with this middle.
    void text(Point middle, const Words& words, const TextStyle& style = {});
    void arrow(const std::vector<Point>& way, const LineStyle& style = {});
    void line(const std::vector<Point>& way, const LineStyle& style = {});
    void circle(Point centre, double radius, const Words& words, int colour = kInk);
    /// A filled bar without words, as deep in its colour as `depth` between 0 and 1.
    void bar(const Rect& place, int colour, double depth = 0.55);

    /// Throws ValueError with the first thing that is wrong with it.
    std::string svg() const;

private:
    const std::string& in_language(const Words& words) const;
    void write(Point middle, const std::string& line, const TextStyle& style);

    Size size_;
    std::string title_;
    Language language_;
    std::string body_;
    std::vector<Rect> written_;                   // where words are
    std::vector<std::string> words_;              // which
    std::vector<std::pair<Point, Point>> drawn_;  // pieces of lines
};

/// How wide a line of text is, about.
double width_of(std::string_view line, double size);

}  // namespace tapestry::pictures
