// Elementwise functions of one variable. They take floating-point tensors (DTypeError otherwise)
// and keep shape and dtype; neg, abs and square also take i64, which wraps around on overflow
// (arithmetic.h). `g` is the gradient of the output, y the output. How accurate they are, and in
// which range, is in docs/ops.md, under "Range and accuracy".
#pragma once

#include <tapestry/autograd/tape.h>

namespace tapestry {

/// -x. Gradient: -g.
Tensor neg(const Tensor& x);
/// |x|. Gradient: g sign(x), 0 at 0 and NaN at NaN (PyTorch: 0, because its sign of NaN is 0).
Tensor abs(const Tensor& x);
/// x^2. Gradient: 2 g x.
Tensor square(const Tensor& x);
/// Square root; NaN for x < 0. Gradient: g / (2 sqrt x).
Tensor sqrt(const Tensor& x);
/// 1 / sqrt(x). Gradient: -g y^3 / 2.
Tensor rsqrt(const Tensor& x);
/// 1 / x; inf at 0, -inf at -0. Gradient: -g y^2.
Tensor reciprocal(const Tensor& x);
/// e^x. Gradient: g y.
Tensor exp(const Tensor& x);
/// Natural logarithm; -inf at 0, NaN below. Gradient: g / x.
Tensor log(const Tensor& x);
/// Sine. Gradient: g cos x.
Tensor sin(const Tensor& x);
/// Cosine. Gradient: -g sin x.
Tensor cos(const Tensor& x);
/// Hyperbolic tangent. Gradient: g (1 - y^2).
Tensor tanh(const Tensor& x);
/// 1 / (1 + e^-x). Gradient: g y (1 - y).
Tensor sigmoid(const Tensor& x);
/// log(x / (1 - x)), the inverse of sigmoid; NaN outside [0, 1]. Gradient: g / (x (1 - x)).
Tensor logit(const Tensor& x);

/// neg(x) as an operator.
inline Tensor operator-(const Tensor& x) { return neg(x); }

// ---- logarithms, the error function, circular and hyperbolic functions --------------------------
// Accurate to 4 units in the last place. NaN outside a function's domain; zeros, infinities and NaN
// follow C (C11, annex F).

/// log(1 + x), accurate for small x, where 1 + x would lose digits. Gradient: g / (1 + x).
Tensor log1p(const Tensor& x);
/// e^x - 1, accurate for small x. Gradient: g e^x.
Tensor expm1(const Tensor& x);
/// Logarithm to base 2; exact for powers of 2. Gradient: g / (x ln 2).
Tensor log2(const Tensor& x);
/// Logarithm to base 10. Gradient: g / (x ln 10).
Tensor log10(const Tensor& x);

/// The error function: 2 / sqrt(pi) times the integral of e^(-t^2) from 0 to x. Gradient: g
/// 2 / sqrt(pi) e^(-x^2).
Tensor erf(const Tensor& x);

/// Tangent, sin x / cos x. Gradient: g (1 + y^2).
Tensor tan(const Tensor& x);
/// Arcsine, the angle in [-pi/2, pi/2] whose sine is x; NaN for |x| > 1. Gradient:
/// g / sqrt(1 - x^2).
Tensor asin(const Tensor& x);
/// Arccosine, the angle in [0, pi] whose cosine is x; NaN for |x| > 1. Gradient:
/// -g / sqrt(1 - x^2).
Tensor acos(const Tensor& x);
/// Arctangent, the angle in (-pi/2, pi/2) whose tangent is x. Gradient: g / (1 + x^2).
Tensor atan(const Tensor& x);

/// The angle in [-pi, pi] of the point (x, y), y first, broadcast together: arctan(y / x) in the
/// quadrant of the point; at the origin 0 or pi, by the sign of x = 0. Gradient: g x / (x^2 + y^2)
/// to y, -g y / (x^2 + y^2) to x; NaN at the origin. Throws DTypeError and ShapeError.
Tensor atan2(const Tensor& y, const Tensor& x);

/// Hyperbolic sine, (e^x - e^-x) / 2. Gradient: g cosh x.
Tensor sinh(const Tensor& x);
/// Hyperbolic cosine, (e^x + e^-x) / 2. Gradient: g sinh x.
Tensor cosh(const Tensor& x);

}  // namespace tapestry
