// Size2d: a vertical and a horizontal value, such as an image kernel's size or stride: {3, 5}, or
// one number for both.
#pragma once

#include <tapestry/core/error.h>

#include <cstdint>

namespace tapestry {

/// A size, stride, padding or dilation of images, in pixels.
struct Size2d {
    std::int64_t rows;     ///< vertical
    std::int64_t columns;  ///< horizontal

    /// One number for both axes.
    Size2d(std::int64_t both) : rows(both), columns(both) {}
    /// {rows, columns}
    Size2d(std::int64_t down, std::int64_t across) : rows(down), columns(across) {}
};

}  // namespace tapestry

/// "2" if both are 2, otherwise "2 x 3".
template <>
struct fmt::formatter<tapestry::Size2d> : tapestry::PlainFormatter {
    fmt::appender format(const tapestry::Size2d& size, fmt::format_context& context) const;
};
