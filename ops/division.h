// Whole quotients and what they leave, element by element, broadcast as NumPy does. (a / b itself
// is in arithmetic.h.)
//
// floating numbers or i64, both operands of one type (DTypeError); a number stands for a constant
// of that type. Division by zero gives inf or NaN for f32 and f64; for i64 it is a ValueError that
// names the place. `g` is the gradient of the output; to a broadcast operand it is summed.
#pragma once

#include <tapestry/autograd/tape.h>

namespace tapestry {

/// a / b rounded down, Python's a // b: -7 by 2 is -4. Gradient: 0, as of floor.
Tensor floor_divide(const Tensor& a, const Tensor& b);
Tensor floor_divide(const Tensor& a, double b);

/// What that leaves: a - b floor_divide(a, b), Python's a % b: -7 by 2 leaves 1. It has the sign of
/// b. Gradient: g, -g floor_divide(a, b).
Tensor remainder(const Tensor& a, const Tensor& b);
Tensor remainder(const Tensor& a, double b);

/// What division rounded towards zero leaves, exactly; C's fmod, and its % for i64: -7 by 2 leaves
/// -1. It has the sign of a. Gradient: g, -g trunc(a / b).
Tensor fmod(const Tensor& a, const Tensor& b);
Tensor fmod(const Tensor& a, double b);

}  // namespace tapestry
