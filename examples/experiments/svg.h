// What plot.cpp and heat_map.cpp both write: the frame of a picture, its colours, text.
#pragma once

#include <string>
#include <string_view>

namespace tapestry::experiments {

inline constexpr int kColours = 6;  ///< classes c0 ... c5 (lines) and f0 ... f5 (filled)

/// `text` as it may stand between tags and in attributes.
std::string escaped_xml(std::string_view text);

/// A text element; `anchor` start, middle or end, `extra` further attributes.
std::string svg_text(double x, double y, std::string_view text, std::string_view anchor = "start",
                     std::string_view extra = "");

/// `body` in a picture of this size, with its colours for light and dark and a title for those who
/// cannot see it.
std::string svg_document(int width, int height, std::string_view title, const std::string& body);

/// Whole or rounded numbers as an axis or a cell shows them.
std::string tick_label(double value);

}  // namespace tapestry::experiments
