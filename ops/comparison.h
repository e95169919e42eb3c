// Elementwise comparisons and logic with NumPy's broadcasting, and tests for NaN and infinity.
// Results are bool tensors without a gradient, except for nan_to_num.
#pragma once

#include <tapestry/core/tensor.h>

#include <optional>

namespace tapestry {

/// a == b, a != b, a < b, a <= b, a > b, a >= b for tensors of one dtype (any). Any comparison with
/// NaN is false, except ne. Throws DTypeError and ShapeError.
Tensor eq(const Tensor& a, const Tensor& b);
Tensor ne(const Tensor& a, const Tensor& b);
Tensor lt(const Tensor& a, const Tensor& b);
Tensor le(const Tensor& a, const Tensor& b);
Tensor gt(const Tensor& a, const Tensor& b);
Tensor ge(const Tensor& a, const Tensor& b);

/// The same with a number, which is converted to a's dtype if that is floating-point, as in
/// PyTorch. i64 and bool (as 0 and 1) are compared with its exact value: lt(x, 0.5) of i64 is true
/// for 0.
Tensor eq(const Tensor& a, double b);
Tensor ne(const Tensor& a, double b);
Tensor lt(const Tensor& a, double b);
Tensor le(const Tensor& a, double b);
Tensor gt(const Tensor& a, double b);
Tensor ge(const Tensor& a, double b);

/// The twelve as operators: x > 0 is gt(x, 0). The result is a bool tensor and never a bool, so
/// `if (a == b)` does not compile: allclose(a, b) compares whole tensors, and
/// (a == b).all().item<bool>() does so exactly.
inline Tensor operator==(const Tensor& a, const Tensor& b) { return eq(a, b); }
inline Tensor operator!=(const Tensor& a, const Tensor& b) { return ne(a, b); }
inline Tensor operator<(const Tensor& a, const Tensor& b) { return lt(a, b); }
inline Tensor operator<=(const Tensor& a, const Tensor& b) { return le(a, b); }
inline Tensor operator>(const Tensor& a, const Tensor& b) { return gt(a, b); }
inline Tensor operator>=(const Tensor& a, const Tensor& b) { return ge(a, b); }
inline Tensor operator==(const Tensor& a, double b) { return eq(a, b); }
inline Tensor operator!=(const Tensor& a, double b) { return ne(a, b); }
inline Tensor operator<(const Tensor& a, double b) { return lt(a, b); }
inline Tensor operator<=(const Tensor& a, double b) { return le(a, b); }
inline Tensor operator>(const Tensor& a, double b) { return gt(a, b); }
inline Tensor operator>=(const Tensor& a, double b) { return ge(a, b); }
inline Tensor operator==(double a, const Tensor& b) { return eq(b, a); }
inline Tensor operator!=(double a, const Tensor& b) { return ne(b, a); }
inline Tensor operator<(double a, const Tensor& b) { return gt(b, a); }
inline Tensor operator<=(double a, const Tensor& b) { return ge(b, a); }
inline Tensor operator>(double a, const Tensor& b) { return lt(b, a); }
inline Tensor operator>=(double a, const Tensor& b) { return le(b, a); }

/// Logic on bool tensors.
Tensor logical_not(const Tensor& a);
Tensor logical_and(const Tensor& a, const Tensor& b);
Tensor logical_or(const Tensor& a, const Tensor& b);
/// True where exactly one of a and b is.
Tensor logical_xor(const Tensor& a, const Tensor& b);

/// The same as operators, as in NumPy: !a, a & b, a | b, a ^ b. && and || are not defined, because
/// they would always compute both sides; & binds more loosely than <, so write (x > 0) & (x < 1).
inline Tensor operator!(const Tensor& a) { return logical_not(a); }
inline Tensor operator&(const Tensor& a, const Tensor& b) { return logical_and(a, b); }
inline Tensor operator|(const Tensor& a, const Tensor& b) { return logical_or(a, b); }
inline Tensor operator^(const Tensor& a, const Tensor& b) { return logical_xor(a, b); }

// ---- nearly equal -------------------------------------------------------------------------------

/// |a - b| <= absolute + relative |b|, for tensors of one dtype (any), in double. Equal infinities
/// are close, NaN only to NaN, if `equal_nan`. Throws DTypeError, ShapeError, and ValueError for a
/// tolerance below 0.
Tensor isclose(const Tensor& a, const Tensor& b, double relative = 1e-5, double absolute = 1e-8,
               bool equal_nan = false);
/// Whether all elements are. True for no elements.
bool allclose(const Tensor& a, const Tensor& b, double relative = 1e-5, double absolute = 1e-8,
              bool equal_nan = false);

// ---- finding and replacing NaN and infinities ---------------------------------------------------

/// True where x is NaN. Any dtype (all false for i64 and bool).
Tensor isnan(const Tensor& x);
/// True where x is inf or -inf.
Tensor isinf(const Tensor& x);
/// True where x is neither NaN nor infinite.
Tensor isfinite(const Tensor& x);

/// x with NaN, inf and -inf replaced by the given numbers; by default 0 and the largest and lowest
/// finite number of the dtype. Floating-point (DTypeError). Gradient: g where x is finite, else 0.
Tensor nan_to_num(const Tensor& x, double nan = 0, std::optional<double> positive_infinity = {},
                  std::optional<double> negative_infinity = {});

}  // namespace tapestry
