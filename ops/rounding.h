// Rounding, sign, integer division and remainders.
//
// Rounding takes floating-point or i64 (DTypeError otherwise) and keeps shape and dtype; it leaves
// infinities, NaN and integers unchanged. These functions and sign are piecewise constant. They are
// recorded with gradient 0, so a parameter behind them gets zeros rather than no gradient.
#pragma once

#include <tapestry/autograd/tape.h>

namespace tapestry {

/// The sign: -1, 0 or 1; NaN for NaN. Gradient: 0.
Tensor sign(const Tensor& x);
/// The largest integer not above x. Gradient: 0.
Tensor floor(const Tensor& x);
/// The smallest integer not below x. Gradient: 0.
Tensor ceil(const Tensor& x);
/// The nearest integer, ties to even: 0.5 gives 0, 1.5 and 2.5 give 2. Gradient: 0.
Tensor round(const Tensor& x);
/// x rounded toward 0. Gradient: 0.
Tensor trunc(const Tensor& x);

// ---- integer division and remainders ------------------------------------------------------------
// Elementwise with NumPy's broadcasting. (a / b itself is in arithmetic.h.) Both operands are
// floating-point or i64 and share a dtype (DTypeError); a double is a constant of that dtype.
// Division by zero gives inf or NaN for floating-point; for i64 it throws ValueError with the
// position. `g` is the gradient of the output; for a broadcast operand it is summed.

/// a / b rounded down, Python's a // b: -7 by 2 is -4. Gradient: 0, as for floor.
Tensor floor_divide(const Tensor& a, const Tensor& b);
Tensor floor_divide(const Tensor& a, double b);

/// a - b floor_divide(a, b), Python's a % b: -7 by 2 leaves 1. It has the sign of b. Gradient: g,
/// -g floor_divide(a, b).
Tensor remainder(const Tensor& a, const Tensor& b);
Tensor remainder(const Tensor& a, double b);

/// The exact remainder of division rounded toward zero; C's fmod, and its % for i64: -7 by 2 leaves
/// -1. It has the sign of a. Gradient: g, -g trunc(a / b).
Tensor fmod(const Tensor& a, const Tensor& b);
Tensor fmod(const Tensor& a, double b);

}  // namespace tapestry
