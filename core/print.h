// Tensors as text, exactly as NumPy's str(array) writes them with its default options:
//     [[1.   0.25]
//      [2.   3.  ]]
// so that what people know from there, and diffs against it, hold here too.
#pragma once

#include <tapestry/core/tensor.h>

#include <string>

namespace tapestry {

/// `x` as NumPy 1.24 prints it: 8 digits, lines of 75 columns, the first and last 3 of an axis when
/// there are more than 1000 elements. A tensor of rank 0 is a bare number with all its digits. An
/// undefined tensor is "undefined".
std::string to_string(const Tensor& x);

}  // namespace tapestry

/// "{}": see to_string.
template <>
struct fmt::formatter<tapestry::Tensor> : tapestry::PlainFormatter {
    fmt::appender format(const tapestry::Tensor& x, fmt::format_context& context) const;
};
