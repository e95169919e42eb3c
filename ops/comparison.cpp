#include <tapestry/ops/comparison.h>

#include <tapestry/core/create.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/check.h>
#include <tapestry/ops/map.h>
#include <tapestry/ops/reduction.h>

#include <cmath>
#include <functional>
#include <limits>

namespace tapestry {

// ---- relations and logic ------------------------------------------------------------------------

namespace {

// -1, 0 or 1 for a below, equal to or above b, NaN if b is; exact, although not every i64 is a
// double.
double place_of(std::int64_t a, double b) {
    const bool fits = b >= -0x1p63 && b < 0x1p63;
    if (!fits) return b > 0 ? -1 : (b < 0 ? 1 : b);
    const double floor = std::floor(b);
    const auto whole = static_cast<std::int64_t>(floor);
    if (a != whole) return a < whole ? -1 : 1;
    return floor < b ? -1 : 0;
}

// True if elements of this dtype can have value b.
bool is_among(DType dtype, double b) {
    if (is_floating(dtype)) return true;  // b is rounded, as in PyTorch
    if (dtype == DType::boolean) return b == 0 || b == 1;
    return b == std::floor(b) && std::abs(b) < 0x1p63;
}

template <class Relation>
Tensor compare(std::string_view op, const Tensor& a, const Tensor& b, Relation holds) {
    check_same_dtype(op, a, b);
    Tensor y(broadcast_shapes(op, a.shape(), b.shape()), DType::boolean);
    visit_dtype(a.dtype(), [&](auto zero) { map_plain_into<decltype(zero)>(y, a, b, holds); });
    return y;
}

template <class Relation>
Tensor combine(std::string_view op, const Tensor& a, const Tensor& b, Relation holds) {
    check_dtype(op, a, DType::boolean);
    check_dtype(op, b, DType::boolean);
    Tensor y(broadcast_shapes(op, a.shape(), b.shape()), DType::boolean);
    map_plain_into<bool>(y, a, b, holds);
    return y;
}

template <class Relation>
Tensor compare(std::string_view op, const Tensor& a, double b, Relation holds) {
    check_defined(op, a);
    if (is_among(a.dtype(), b)) return compare(op, a, scalar(b, a.dtype()), holds);
    Tensor y(a.shape(), DType::boolean);
    visit_dtype(a.dtype(), [&](auto zero) {
        using T = decltype(zero);
        if constexpr (std::is_integral_v<T>) {
            map_plain_into<T>(y, a, [=](T x) { return holds(place_of(x, b), 0.0); });
        }
    });
    return y;
}

}  // namespace

Tensor eq(const Tensor& a, const Tensor& b) { return compare("eq", a, b, std::equal_to<>()); }
Tensor ne(const Tensor& a, const Tensor& b) { return compare("ne", a, b, std::not_equal_to<>()); }
Tensor lt(const Tensor& a, const Tensor& b) { return compare("lt", a, b, std::less<>()); }
Tensor le(const Tensor& a, const Tensor& b) { return compare("le", a, b, std::less_equal<>()); }
Tensor gt(const Tensor& a, const Tensor& b) { return compare("gt", a, b, std::greater<>()); }
Tensor ge(const Tensor& a, const Tensor& b) { return compare("ge", a, b, std::greater_equal<>()); }

Tensor eq(const Tensor& a, double b) { return compare("eq", a, b, std::equal_to<>()); }
Tensor ne(const Tensor& a, double b) { return compare("ne", a, b, std::not_equal_to<>()); }
Tensor lt(const Tensor& a, double b) { return compare("lt", a, b, std::less<>()); }
Tensor le(const Tensor& a, double b) { return compare("le", a, b, std::less_equal<>()); }
Tensor gt(const Tensor& a, double b) { return compare("gt", a, b, std::greater<>()); }
Tensor ge(const Tensor& a, double b) { return compare("ge", a, b, std::greater_equal<>()); }

Tensor logical_not(const Tensor& a) {
    return combine("logical_not", a, scalar(0, DType::boolean), std::equal_to<>());
}

Tensor logical_and(const Tensor& a, const Tensor& b) {
    return combine("logical_and", a, b, std::logical_and<>());
}

Tensor logical_or(const Tensor& a, const Tensor& b) {
    return combine("logical_or", a, b, std::logical_or<>());
}

Tensor logical_xor(const Tensor& a, const Tensor& b) {
    return combine("logical_xor", a, b, std::not_equal_to<>());
}

// ---- nearly equal -------------------------------------------------------------------------------

Tensor isclose(const Tensor& a, const Tensor& b, double relative, double absolute, bool equal_nan) {
    require(relative >= 0 && absolute >= 0, "isclose: tolerances must be >= 0, got {} and {}",
            relative, absolute);
    const auto close = [=](auto of_a, auto of_b) {
        const auto p = static_cast<double>(of_a), q = static_cast<double>(of_b);
        if (std::isnan(p) || std::isnan(q)) return equal_nan && std::isnan(p) && std::isnan(q);
        const double apart = std::abs(p - q);
        return p == q || (std::isfinite(apart) && apart <= absolute + relative * std::abs(q));
    };
    return compare("isclose", a, b, close);
}

bool allclose(const Tensor& a, const Tensor& b, double relative, double absolute, bool equal_nan) {
    check_same_dtype("allclose", a, b);
    return all(isclose(a, b, relative, absolute, equal_nan)).item() != 0;
}

// ---- NaN and infinities -------------------------------------------------------------------------

namespace {

// Elementwise `holds`, evaluated in double: the conversion preserves NaN, infinite and finite.
Tensor ask(std::string_view op, const Tensor& x, bool (*holds)(double)) {
    check_defined(op, x);
    Tensor y(x.shape(), DType::boolean);
    visit_dtype(x.dtype(), [&](auto zero) {
        using T = decltype(zero);
        map_plain_into<T>(y, x,
                          [holds](Compute<T> value) { return holds(static_cast<double>(value)); });
    });
    return y;
}

}  // namespace

Tensor isnan(const Tensor& x) {
    return ask("isnan", x, [](double value) { return std::isnan(value); });
}

Tensor isinf(const Tensor& x) {
    return ask("isinf", x, [](double value) { return std::isinf(value); });
}

Tensor isfinite(const Tensor& x) {
    return ask("isfinite", x, [](double value) { return std::isfinite(value); });
}

Tensor nan_to_num(const Tensor& x, double nan, std::optional<double> positive_infinity,
                  std::optional<double> negative_infinity) {
    check_floating("nan_to_num", x);
    const auto number = [&x](double value) { return scalar(value, x.dtype()); };
    const double largest = row_of(x.dtype()).largest;
    const Tensor infinite = where(gt(x, 0), number(positive_infinity.value_or(largest)),
                                  number(negative_infinity.value_or(-largest)));
    return where(isfinite(x), x, where(isnan(x), number(nan), infinite));
}

}  // namespace tapestry
