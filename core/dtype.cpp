#include <tapestry/core/dtype.h>

fmt::appender fmt::formatter<tapestry::DType>::format(tapestry::DType dtype,
                                                      fmt::format_context& context) const {
    return fmt::format_to(context.out(), "{}", tapestry::name_of(dtype));
}
