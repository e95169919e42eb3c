// Logarithms, the error function, circular and hyperbolic functions beyond those of elementwise.h.
//
// floating numbers in (DTypeError otherwise), the same shape and type out, right to 4 units in the
// last place; NaN outside a function's domain, and zeros, infinities and NaN as C has them (C11,
// annex F). `g` is the gradient of the output, y the output.
#pragma once

#include <tapestry/autograd/tape.h>

namespace tapestry {

/// log(1 + x), exact where x is small and 1 + x would forget it. Gradient: g / (1 + x).
Tensor log1p(const Tensor& x);
/// e^x - 1, exact where x is small. Gradient: g e^x.
Tensor expm1(const Tensor& x);
/// The logarithm to base 2; exact for powers of 2. Gradient: g / (x ln 2).
Tensor log2(const Tensor& x);
/// The logarithm to base 10. Gradient: g / (x ln 10).
Tensor log10(const Tensor& x);

/// 2 / sqrt(pi) times the integral of e^(-t^2) from 0 to x. Gradient: g 2 / sqrt(pi) e^(-x^2).
Tensor erf(const Tensor& x);

/// sin x / cos x. Gradient: g (1 + y^2).
Tensor tan(const Tensor& x);
/// The angle in [-pi/2, pi/2] whose sine is x; NaN for |x| > 1. Gradient: g / sqrt(1 - x^2).
Tensor asin(const Tensor& x);
/// The angle in [0, pi] whose cosine is x; NaN for |x| > 1. Gradient: -g / sqrt(1 - x^2).
Tensor acos(const Tensor& x);
/// The angle in (-pi/2, pi/2) whose tangent is x. Gradient: g / (1 + x^2).
Tensor atan(const Tensor& x);

/// The angle in [-pi, pi] of the point (x, y), y first, broadcast together: arctan(y / x) in the
/// quadrant where the point lies, and 0 or pi at the origin, as the sign of x = 0 has it. Gradient:
/// g x / (x^2 + y^2) to y, -g y / (x^2 + y^2) to x; NaN at the origin. Throws DTypeError and
/// ShapeError.
Tensor atan2(const Tensor& y, const Tensor& x);

/// (e^x - e^-x) / 2. Gradient: g cosh x.
Tensor sinh(const Tensor& x);
/// (e^x + e^-x) / 2. Gradient: g sinh x.
Tensor cosh(const Tensor& x);

}  // namespace tapestry
