// Which elements are numbers and which are not: NaN and infinities found, and replaced.
#pragma once

#include <tapestry/autograd/tape.h>

#include <optional>

namespace tapestry {

/// Is it NaN? Bool, a constant; any dtype (never for i64 and bool).
Tensor isnan(const Tensor& x);
/// Is it infinite, of either sign?
Tensor isinf(const Tensor& x);
/// Is it neither NaN nor infinite?
Tensor isfinite(const Tensor& x);

/// x with numbers for NaN, inf and -inf: those given; if none are, 0 and the largest and the
/// smallest number of the type. floating numbers (DTypeError). Gradient: g where x is finite, else
/// 0.
Tensor nan_to_num(const Tensor& x, double nan = 0, std::optional<double> positive_infinity = {},
                  std::optional<double> negative_infinity = {});

}  // namespace tapestry
