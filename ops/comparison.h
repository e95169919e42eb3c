// Comparisons and logic, element by element, broadcast as NumPy does; and which elements are NaN or
// infinite. Results are bool tensors: constants, through which no gradient flows (but
// nan_to_num's).
#pragma once

#include <tapestry/core/tensor.h>

#include <optional>

namespace tapestry {

/// a == b, a != b, a < b, a <= b, a > b, a >= b for tensors of one dtype (any). A comparison with
/// NaN is false, but for ne. Throws DTypeError and ShapeError.
Tensor eq(const Tensor& a, const Tensor& b);
Tensor ne(const Tensor& a, const Tensor& b);
Tensor lt(const Tensor& a, const Tensor& b);
Tensor le(const Tensor& a, const Tensor& b);
Tensor gt(const Tensor& a, const Tensor& b);
Tensor ge(const Tensor& a, const Tensor& b);

/// The same against one number: converted to a's dtype if that is floating, as in PyTorch; beside
/// whole numbers and truth values (0 and 1) it is what it is: lt(x, 0.5) of i64 holds for 0.
Tensor eq(const Tensor& a, double b);
Tensor ne(const Tensor& a, double b);
Tensor lt(const Tensor& a, double b);
Tensor le(const Tensor& a, double b);
Tensor gt(const Tensor& a, double b);
Tensor ge(const Tensor& a, double b);

/// Logic on bool tensors.
Tensor logical_not(const Tensor& a);
Tensor logical_and(const Tensor& a, const Tensor& b);
Tensor logical_or(const Tensor& a, const Tensor& b);
/// Is one of them true, and not both?
Tensor logical_xor(const Tensor& a, const Tensor& b);

// ---- NaN and infinities: found, and replaced ----------------------------------------------------

/// Is it NaN? Bool, a constant; any dtype (never for i64 and bool).
Tensor isnan(const Tensor& x);
/// Is it infinite, of either sign?
Tensor isinf(const Tensor& x);
/// Is it neither NaN nor infinite?
Tensor isfinite(const Tensor& x);

/// x with numbers for NaN, inf and -inf: those given; if none are, 0 and the largest and the
/// smallest number of the type. floating numbers (DTypeError). Gradient: g where x is finite, else
/// 0.
Tensor nan_to_num(const Tensor& x, double nan = 0, std::optional<double> positive_infinity = {},
                  std::optional<double> negative_infinity = {});

}  // namespace tapestry
