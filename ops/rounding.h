// Whole numbers near x, and its sign; whole quotients and their remainders.
//
// Rounding takes floating numbers or i64 (DTypeError otherwise), the same shape and type out.
// Infinities stay, and so do NaN and what is whole already. These are steps: flat, with jumps
// between. They are recorded, with the gradient 0 that they have wherever they have one, so that a
// parameter behind them gets zeros instead of nothing.
#pragma once

#include <tapestry/autograd/tape.h>

namespace tapestry {

/// -1, 0 or 1; NaN of NaN. Gradient: 0.
Tensor sign(const Tensor& x);
/// The largest whole number that is not above x. Gradient: 0.
Tensor floor(const Tensor& x);
/// The smallest whole number that is not below x. Gradient: 0.
Tensor ceil(const Tensor& x);
/// The nearest whole number; of two as near, the even one: 0.5 gives 0, 1.5 and 2.5 give 2.
/// Gradient: 0.
Tensor round(const Tensor& x);
/// x without what follows the point: the nearest whole number towards 0. Gradient: 0.
Tensor trunc(const Tensor& x);

// ---- whole quotients and what they leave --------------------------------------------------------
// Element by element, broadcast as NumPy does. (a / b itself is in arithmetic.h.) floating numbers
// or i64, both operands of one type (DTypeError); a number stands for a constant of that type.
// Division by zero gives inf or NaN for f32 and f64; for i64 it is a ValueError that names the
// place. `g` is the gradient of the output; to a broadcast operand it is summed.

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
