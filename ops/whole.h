// Arithmetic of i64: what the functions of arithmetic.h and elementwise.h do with whole numbers.
// Constants in, constants out; sums and products wrap around modulo 2^64. Any other dtype is a
// DTypeError in the name of the op. Internal to ops.
#pragma once

#include <tapestry/core/create.h>
#include <tapestry/ops/check.h>

#include <optional>

namespace tapestry {

namespace whole {

Tensor add(const Tensor& a, const Tensor& b);
Tensor sub(const Tensor& a, const Tensor& b);
Tensor mul(const Tensor& a, const Tensor& b);
Tensor maximum(const Tensor& a, const Tensor& b);
Tensor minimum(const Tensor& a, const Tensor& b);
Tensor neg(const Tensor& x);
Tensor abs(const Tensor& x);
Tensor square(const Tensor& x);
Tensor sign(const Tensor& x);

/// a^b, b >= 0 (ValueError that names the place)
Tensor pow(const Tensor& a, const Tensor& b);

/// a / b in f32, one of them perhaps a number, which need not be whole
Tensor div(const Tensor& a, const Tensor& b);
Tensor div(const Tensor& a, double b);
Tensor div(double a, const Tensor& b);

/// low and high whole or infinite
Tensor clamp(const Tensor& x, double low, double high);

/// `value` beside whole numbers: throws ValueError in the name of `op` unless it is one.
Tensor number(std::string_view op, const Tensor& x, double value);

/// The index of the first element, in row-major order, for which `wrong` holds.
std::optional<Shape> first_place(const Tensor& x, bool (*wrong)(std::int64_t));

}  // namespace whole

/// A number as an operand beside x, of its dtype.
inline Tensor number_like(std::string_view op, const Tensor& x, double value) {
    if (is_floating(x.dtype())) return scalar(value, x.dtype());
    return whole::number(op, x, value);
}

/// A number in the place of elements of x: of its dtype, beside whole numbers a whole one, beside
/// truth values 0 or 1 (ValueError).
inline Tensor element_like(std::string_view op, const Tensor& x, double value) {
    if (x.dtype() != DType::boolean) return number_like(op, x, value);
    require(value == 0 || value == 1, "{}: {} is no truth value, and the tensor is bool", op,
            value);
    return scalar(value, DType::boolean);
}

}  // namespace tapestry
