// The slope of a function that is noisy: many values, and least squares. A difference quotient
// bears the noise of two values; of 128 values the noise averages out, and by what is left over one
// sees how large it was.
//
//     f(t) = c0 + c1 t + c2 t^2 + c3 t^3 + ... + noise
//
// Internal to autograd/check. Read next: slope.cpp, which asks for it where quotients say too
// little.
#pragma once

#include <tapestry/autograd/check/extrapolate.h>

#include <optional>

namespace tapestry::checker {

/// c1 with its error, from steps of the size that makes the error smallest; nothing where f takes
/// other branches or is no number. Some 500 values. `epsilon`: that of the format which outputs are
/// rounded to; 0 for f64.
std::optional<Attempt> fitted_slope(Line& line, const std::vector<double>& weights,
                                    double epsilon = 0);

}  // namespace tapestry::checker
