// The formats that a plain function's numbers may be stored in: what rounding to them leaves of x.
// Read next: plain.h, which checks gradients of functions that live in one.
#pragma once

#include <string_view>

namespace tapestry {

enum class Format { f64, f32, bf16, f16 };

std::string_view to_string(Format format);

/// The nearest number of the format, ties to even; infinity beyond its largest.
double rounded(Format format, double x);

/// Between 1 and the next number.
double epsilon(Format format);

}  // namespace tapestry
