#include <tapestry/core/size_2d.h>

fmt::appender fmt::formatter<tapestry::Size2d>::format(const tapestry::Size2d& size,
                                                       fmt::format_context& context) const {
    return size.rows == size.columns
               ? fmt::format_to(context.out(), "{}", size.rows)
               : fmt::format_to(context.out(), "{} x {}", size.rows, size.columns);
}
