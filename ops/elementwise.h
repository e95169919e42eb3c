// Functions of one variable, element by element: floating numbers in (DTypeError otherwise), the
// same shape and type out; neg, abs and square take i64 as well, whose numbers wrap around where 64
// bits end (arithmetic.h). `g` is the gradient of the output.
#pragma once

#include <tapestry/autograd/tape.h>

namespace tapestry {

/// -x. Gradient: -g.
Tensor neg(const Tensor& x);
/// |x|. Gradient: g sign(x), 0 at 0.
Tensor abs(const Tensor& x);
/// x^2. Gradient: 2 g x.
Tensor square(const Tensor& x);
/// The square root; NaN for x < 0. Gradient: g / (2 sqrt x).
Tensor sqrt(const Tensor& x);
/// 1 / sqrt(x). Gradient: -g y^3 / 2.
Tensor rsqrt(const Tensor& x);
/// 1 / x; inf at 0, of its sign. Gradient: -g y^2.
Tensor reciprocal(const Tensor& x);
/// e^x; 0 below -88.37 (f32) or -708.39 (f64), where results would be subnormal. Gradient: g y.
Tensor exp(const Tensor& x);
/// The natural logarithm; -inf at 0, NaN below. Gradient: g / x.
Tensor log(const Tensor& x);
/// Gradient: g cos x.
Tensor sin(const Tensor& x);
/// Gradient: -g sin x.
Tensor cos(const Tensor& x);
/// The hyperbolic tangent. Gradient: g (1 - y^2).
Tensor tanh(const Tensor& x);
/// 1 / (1 + e^-x). Gradient: g y (1 - y).
Tensor sigmoid(const Tensor& x);

inline Tensor operator-(const Tensor& x) { return neg(x); }

}  // namespace tapestry
