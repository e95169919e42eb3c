// Internal to Tapestry. Elements of a picture in SVG, its frame and its colours for light and dark.
// Plots (plot.h), the experiments' heat maps and the course's diagrams are made of them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tapestry::pictures {

inline constexpr int kColours = 6;  ///< classes c0 ... c5 (lines) and f0 ... f5 (filled)
/// With c6 and f6, which a document only defines if it uses them.
inline constexpr int kMostColours = kColours + 1;

struct Point {
    double x = 0, y = 0;
};

/// `text` with the characters escaped that XML reserves.
std::string escaped_xml(std::string_view text);

/// A text element; `anchor` start, middle or end, `extra` further attributes. `content` is XML.
std::string svg_text_element(double x, double y, std::string_view content, std::string_view anchor,
                             std::string_view extra);

/// The same for plain text.
std::string svg_text(double x, double y, std::string_view text, std::string_view anchor = "start",
                     std::string_view extra = "");

/// Shapes; `attributes` are written into their tags. A path has a gap where a point is not finite.
std::string svg_rect(double x, double y, double width, double height, std::string_view attributes);
std::string svg_circle(Point centre, double radius, std::string_view attributes);
std::string svg_path(const std::vector<Point>& points, std::string_view attributes);
std::string svg_polygon(const std::vector<Point>& corners, std::string_view attributes);

/// `body` in a picture of this size, with its colours for light and dark and a title for screen
/// readers.
std::string svg_document(int width, int height, std::string_view title, const std::string& body);

/// A number as an axis or a cell shows it: 0.5, 20000, 2·10⁻⁵.
std::string tick_label(double value);

}  // namespace tapestry::pictures
