// a + b and its kin, element by element, broadcast as NumPy does.
//
// All take floating numbers or i64, both operands of one type (DTypeError otherwise), and shapes
// that broadcast (ShapeError otherwise). A gradient with respect to a broadcast operand is summed
// over the axes along which that operand was repeated. A double stands for a constant of the
// tensor's type; beside i64 it must be a whole number (ValueError).
//
// i64 stays i64, but for `/`, which gives f32, as PyTorch's does; whole quotients and remainders
// are in rounding.h. What does not fit 64 bits wraps around, modulo 2^64. Truth values are no
// numbers: comparison.h has their logic, to(DType::i64) makes them 0 and 1.
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

/// a / b. Gradient: g / b, -g a / b^2. Division by zero gives inf or NaN, as in IEEE 754. Of i64 it
/// is the quotient in f32 (computed in f64), whether or not it is whole.
Tensor div(const Tensor& a, const Tensor& b);
Tensor div(const Tensor& a, double b);

/// a^b. Gradient: g b a^(b-1), g a^b ln a (0 where a = 0 and b >= 0, as PyTorch has it). A negative
/// a with a b that is no whole number gives NaN. Computed as e^(b ln a): the relative error grows
/// with |b ln a| roundings. For i64 by products, exact; throws ValueError for an exponent below
/// zero.
Tensor pow(const Tensor& a, const Tensor& b);
/// a^b for a constant b; by products, quotient or root for b = 1, 2, 3, -1, 1/2, -1/2. Gradient:
/// g b a^(b-1), which is 0 for b = 0.
Tensor pow(const Tensor& a, double b);
/// a^b for a constant a. Gradient: g a^b ln a.
Tensor pow(double a, const Tensor& b);

/// The larger; NaN if either is. Gradient: g to the larger, half to each where they are equal.
Tensor maximum(const Tensor& a, const Tensor& b);
/// The smaller; NaN if either is. Gradient as for maximum.
Tensor minimum(const Tensor& a, const Tensor& b);

/// condition ? a : b, all three broadcast together; condition is bool, a and b of any one dtype.
/// Gradient: g where it chose.
Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b);
/// The same with one number for all elements of one side. Throws ValueError for one that no element
/// can be: a fraction in i64, other than 0 and 1 in bool.
Tensor where(const Tensor& condition, const Tensor& a, double b);
Tensor where(const Tensor& condition, double a, const Tensor& b);

/// min(max(x, low), high). Gradient: g where low <= x <= high, else 0. Throws ValueError if
/// low > high or either is NaN, or for i64 neither whole nor infinite.
Tensor clamp(const Tensor& x, double low, double high);

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

// ---- a += b and its kin -------------------------------------------------------------------------
// Where a tape follows a or b, a += b is a = a + b: the name stands for the sum from then on,
// gradients flow to what a was and to b, and other tensors that share the old memory keep their
// numbers. For a part of a larger tensor's memory that would be misunderstood, and is refused.
// Otherwise the numbers are changed in place, for all who share the memory, as PyTorch does. So a
// parameter is stepped under a NoGradGuard: w -= lr * g. While a tape records, a leaf that requires
// its gradient is refused: it would be a leaf no more.
//
// The result has the shape and dtype of a: b broadcasts to it (ShapeError, DTypeError).
// AutogradError for what is refused.

/// a becomes a + b, a - b, a * b or a / b, in place where no tape follows a or b (see above).
Tensor& operator+=(Tensor& a, const Tensor& b);
Tensor& operator-=(Tensor& a, const Tensor& b);
Tensor& operator*=(Tensor& a, const Tensor& b);
Tensor& operator/=(Tensor& a, const Tensor& b);
Tensor& operator+=(Tensor& a, double b);
Tensor& operator-=(Tensor& a, double b);
Tensor& operator*=(Tensor& a, double b);
Tensor& operator/=(Tensor& a, double b);

/// For a part that has no name, as in counts[{i, j}] += 1: always in place. Refuses what a tape
/// follows, and what has memory of its own (x[mask]), where the change would be lost.
void operator+=(Tensor&& part, const Tensor& b);
void operator-=(Tensor&& part, const Tensor& b);
void operator*=(Tensor&& part, const Tensor& b);
void operator/=(Tensor&& part, const Tensor& b);
void operator+=(Tensor&& part, double b);
void operator-=(Tensor&& part, double b);
void operator*=(Tensor&& part, double b);
void operator/=(Tensor&& part, double b);

}  // namespace tapestry
