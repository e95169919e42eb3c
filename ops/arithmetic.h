// Elementwise arithmetic with NumPy's broadcasting.
//
// Operands are floating-point or i64, share a dtype (DTypeError otherwise) and have shapes that
// broadcast (ShapeError otherwise). The gradient of a broadcast operand is summed over the axes
// along which it was repeated. A double is a constant of the tensor's dtype; for i64 it must be a
// whole number (ValueError).
//
// i64 results stay i64, except for `/`, which gives f32 as in PyTorch; integer quotients and
// remainders are in rounding.h. Overflow wraps around, modulo 2^64. bool has no arithmetic: see
// comparison.h for logic, and to(DType::i64) to convert to 0 and 1.
#pragma once

#include <tapestry/autograd/tape.h>

namespace tapestry {

/// a + b. Gradient: g, g.
Tensor add(const Tensor& a, const Tensor& b);
Tensor add(const Tensor& a, double b);

/// a - b. Gradient: g, -g.
Tensor sub(const Tensor& a, const Tensor& b);
Tensor sub(const Tensor& a, double b);

/// a b. Gradient: g b, g a.
Tensor mul(const Tensor& a, const Tensor& b);
Tensor mul(const Tensor& a, double b);

/// a / b. Gradient: g / b, -g a / b^2. Division by zero gives inf or NaN, as in IEEE 754. For i64
/// the result is the true quotient in f32 (computed in f64).
Tensor div(const Tensor& a, const Tensor& b);
Tensor div(const Tensor& a, double b);

/// a^b. Gradient: g b a^(b-1), g a^b ln a (0 where a = 0 and b >= 0, as in PyTorch). NaN for
/// negative a and non-integer b; zeros and infinities as in C. Exact if the type can represent it.
/// Exact for i64, by multiplication; throws ValueError for a negative exponent.
Tensor pow(const Tensor& a, const Tensor& b);
/// a^b for a constant b; b = 1, 2, 3, -1, 1/2 and -1/2 are computed by products, a quotient or a
/// root. Gradient: g b a^(b-1), which is 0 for b = 0.
Tensor pow(const Tensor& a, double b);
/// a^b for a constant a. Gradient: g a^b ln a.
Tensor pow(double a, const Tensor& b);

/// The larger of a and b; NaN if either is. Gradient: g to the larger, half to each where they are
/// equal.
Tensor maximum(const Tensor& a, const Tensor& b);
/// The smaller of a and b; NaN if either is. Gradient as for maximum.
Tensor minimum(const Tensor& a, const Tensor& b);

/// condition ? a : b, all three broadcast together; condition is bool, a and b share any dtype.
/// Gradient: g to the operand that was chosen.
Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b);
/// The same with a number for one side. Throws ValueError if the dtype cannot hold it: a fraction
/// for i64, anything but 0 and 1 for bool.
Tensor where(const Tensor& condition, const Tensor& a, double b);
Tensor where(const Tensor& condition, double a, const Tensor& b);

/// min(max(x, low), high). Gradient: g where low <= x <= high, else 0. Throws ValueError if
/// low > high or either is NaN, and for i64 if a bound is neither whole nor infinite.
Tensor clamp(const Tensor& x, double low, double high);

/// (1 - w) a + w b for tensors of one dtype, floating-point: linear interpolation; of finite
/// numbers exact at 0 and 1. Shapes broadcast. Gradient: (1 - w) g to a, w g to b.
Tensor lerp(const Tensor& a, const Tensor& b, double w);

/// add, sub, mul and div as operators; a double is a constant of the tensor's type.
inline Tensor operator+(const Tensor& a, const Tensor& b) { return add(a, b); }
inline Tensor operator-(const Tensor& a, const Tensor& b) { return sub(a, b); }
inline Tensor operator*(const Tensor& a, const Tensor& b) { return mul(a, b); }
inline Tensor operator/(const Tensor& a, const Tensor& b) { return div(a, b); }
inline Tensor operator+(const Tensor& a, double b) { return add(a, b); }
inline Tensor operator-(const Tensor& a, double b) { return sub(a, b); }
inline Tensor operator*(const Tensor& a, double b) { return mul(a, b); }
inline Tensor operator/(const Tensor& a, double b) { return div(a, b); }
Tensor operator+(double a, const Tensor& b);
Tensor operator-(double a, const Tensor& b);
Tensor operator*(double a, const Tensor& b);
Tensor operator/(double a, const Tensor& b);

// ---- compound assignment ------------------------------------------------------------------------
// If a tape follows a or b, a += b means a = a + b: a becomes a new tensor, gradients flow to the
// old a and to b, and tensors that share the old memory keep their values. On a view of a larger
// tensor this would be misleading, and throws. Otherwise the update is in place and visible through
// every tensor that shares the memory, as in PyTorch; so update parameters under a NoGradGuard: w
// -= lr * g. While a tape records, updating a leaf that requires a gradient throws, because it
// would no longer be a leaf.
//
// The result has the shape and dtype of a; b broadcasts to it (ShapeError, DTypeError). The refused
// cases throw AutogradError.

/// a becomes a + b, a - b, a * b or a / b, in place where no tape follows a or b (see above).
Tensor& operator+=(Tensor& a, const Tensor& b);
Tensor& operator-=(Tensor& a, const Tensor& b);
Tensor& operator*=(Tensor& a, const Tensor& b);
Tensor& operator/=(Tensor& a, const Tensor& b);
Tensor& operator+=(Tensor& a, double b);
Tensor& operator-=(Tensor& a, double b);
Tensor& operator*=(Tensor& a, double b);
Tensor& operator/=(Tensor& a, double b);

/// For a temporary view, as in counts[{i, j}] += 1: always in place. Throws AutogradError if a tape
/// follows it, or if it is a copy (x[mask]), where the change would be lost.
void operator+=(Tensor&& part, const Tensor& b);
void operator-=(Tensor&& part, const Tensor& b);
void operator*=(Tensor&& part, const Tensor& b);
void operator/=(Tensor&& part, const Tensor& b);
void operator+=(Tensor&& part, double b);
void operator-=(Tensor&& part, double b);
void operator*=(Tensor&& part, double b);
void operator/=(Tensor&& part, double b);

}  // namespace tapestry
