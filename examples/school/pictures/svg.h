// What every picture is made of: its frame, its colours for light and dark, text. Plots and heat
// maps of the experiments (examples/school/experiments/plot.h) are drawn with it, and the course's
// diagrams (drawing.h).
#pragma once

#include <string>
#include <string_view>

namespace tapestry::pictures {

inline constexpr int kColours = 6;  ///< classes c0 ... c5 (lines) and f0 ... f5 (filled)

/// `text` as it may stand between tags and in attributes.
std::string escaped_xml(std::string_view text);

/// A text element; `anchor` start, middle or end, `extra` further attributes. `content` is XML.
std::string svg_text_element(double x, double y, std::string_view content, std::string_view anchor,
                             std::string_view extra);

/// The same for plain text.
std::string svg_text(double x, double y, std::string_view text, std::string_view anchor = "start",
                     std::string_view extra = "");

/// `body` in a picture of this size, with its colours for light and dark and a title for those who
/// cannot see it.
std::string svg_document(int width, int height, std::string_view title, const std::string& body);

/// Whole or rounded numbers as an axis or a cell shows them.
std::string tick_label(double value);

}  // namespace tapestry::pictures
