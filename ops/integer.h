// i64 arithmetic behind the functions of arithmetic.h and elementwise.h. Operands and results are
// constants; sums and products wrap around modulo 2^64. Throws DTypeError, naming the op, for any
// other dtype. Internal to ops.
#pragma once

#include <tapestry/core/create.h>
#include <tapestry/ops/check.h>

#include <optional>

namespace tapestry {

namespace integer {

Tensor add(const Tensor& a, const Tensor& b);
Tensor sub(const Tensor& a, const Tensor& b);
Tensor mul(const Tensor& a, const Tensor& b);
Tensor maximum(const Tensor& a, const Tensor& b);
Tensor minimum(const Tensor& a, const Tensor& b);
Tensor neg(const Tensor& x);
Tensor abs(const Tensor& x);
Tensor square(const Tensor& x);
Tensor sign(const Tensor& x);

/// a^b for b >= 0. Throws ValueError, with the position, for a negative exponent.
Tensor pow(const Tensor& a, const Tensor& b);

/// a / b in f32; a double need not be an integer.
Tensor div(const Tensor& a, const Tensor& b);
Tensor div(const Tensor& a, double b);
Tensor div(double a, const Tensor& b);

/// min(max(x, low), high); low and high are whole or infinite.
Tensor clamp(const Tensor& x, double low, double high);

/// `value` as an i64 scalar. Throws ValueError, naming `op`, unless it is a whole number.
Tensor number(std::string_view op, const Tensor& x, double value);

/// The position of the first element, in row-major order, for which `wrong` holds.
std::optional<Shape> first_place(const Tensor& x, bool (*wrong)(std::int64_t));

}  // namespace integer

/// `value` as a scalar operand of x's dtype.
inline Tensor number_like(std::string_view op, const Tensor& x, double value) {
    if (is_floating(x.dtype())) return scalar(value, x.dtype());
    return integer::number(op, x, value);
}

/// `value` as a scalar of x's dtype; must be whole for i64 and 0 or 1 for bool (ValueError).
inline Tensor element_like(std::string_view op, const Tensor& x, double value) {
    if (x.dtype() != DType::boolean) return number_like(op, x, value);
    require(value == 0 || value == 1, "{}: {} must be 0 or 1, because the tensor is bool", op,
            value);
    return scalar(value, DType::boolean);
}

}  // namespace tapestry
