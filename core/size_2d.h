// Size2d: what has a value down and one across, as strides and kernels of images have: {3, 5}, or
// one number for both.
#pragma once

#include <tapestry/core/error.h>

#include <cstdint>

namespace tapestry {

struct Size2d {
    std::int64_t rows;
    std::int64_t columns;

    Size2d(std::int64_t both) : rows(both), columns(both) {}
    Size2d(std::int64_t down, std::int64_t across) : rows(down), columns(across) {}
};

}  // namespace tapestry

/// "2", where both are 2, or "2 x 3".
template <>
struct fmt::formatter<tapestry::Size2d> : tapestry::PlainFormatter {
    fmt::appender format(const tapestry::Size2d& size, fmt::format_context& context) const;
};
