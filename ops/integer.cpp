#include <tapestry/ops/integer.h>

#include <tapestry/core/copy.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/map.h>

#include <algorithm>
#include <cmath>

namespace tapestry::integer {
namespace {

using Whole = std::int64_t;

// Signed overflow is undefined in C++; unsigned arithmetic wraps around, with the bits of the
// wrapped signed result.
constexpr std::uint64_t bits(Whole x) { return static_cast<std::uint64_t>(x); }
constexpr Whole signed_of(std::uint64_t x) { return static_cast<Whole>(x); }

void check_whole(std::string_view op, const Tensor& x) {
    check_defined(op, x);
    require<DTypeError>(x.dtype() == DType::i64, "{}: needs floating-point numbers or i64, got {}",
                        op, x.dtype());
}

void check_both(std::string_view op, const Tensor& a, const Tensor& b) {
    check_same_dtype(op, a, b);
    check_whole(op, a);
}

template <class F>
Tensor map(std::string_view op, const Tensor& x, F f) {
    check_whole(op, x);
    Tensor y(x.shape(), DType::i64);
    map_plain_into<Whole>(y, x, f);
    return y;
}

template <class F>
Tensor map(std::string_view op, const Tensor& a, const Tensor& b, F f) {
    check_both(op, a, b);
    Tensor y(broadcast_shapes(op, a.shape(), b.shape()), DType::i64);
    map_plain_into<Whole>(y, a, b, f);
    return y;
}

// Exponentiation by squaring: a^13 = a^8 a^4 a.
Whole power(Whole base, Whole exponent) {
    std::uint64_t result = 1;
    for (std::uint64_t square = bits(base); exponent > 0; exponent /= 2, square *= square) {
        if (exponent % 2 == 1) result *= square;
    }
    return signed_of(result);
}

Tensor in_f64(const Tensor& x) { return cast(x, DType::f64); }

bool is_whole(double value) { return value == std::trunc(value) && std::abs(value) < 0x1p63; }

}  // namespace

Tensor add(const Tensor& a, const Tensor& b) {
    return map("add", a, b, [](Whole x, Whole y) { return signed_of(bits(x) + bits(y)); });
}

Tensor sub(const Tensor& a, const Tensor& b) {
    return map("sub", a, b, [](Whole x, Whole y) { return signed_of(bits(x) - bits(y)); });
}

Tensor mul(const Tensor& a, const Tensor& b) {
    return map("mul", a, b, [](Whole x, Whole y) { return signed_of(bits(x) * bits(y)); });
}

Tensor maximum(const Tensor& a, const Tensor& b) {
    return map("maximum", a, b, [](Whole x, Whole y) { return std::max(x, y); });
}

Tensor minimum(const Tensor& a, const Tensor& b) {
    return map("minimum", a, b, [](Whole x, Whole y) { return std::min(x, y); });
}

Tensor neg(const Tensor& x) {
    return map("neg", x, [](Whole value) { return signed_of(0 - bits(value)); });
}

Tensor abs(const Tensor& x) {
    return map("abs", x,
               [](Whole value) { return value < 0 ? signed_of(0 - bits(value)) : value; });
}

Tensor square(const Tensor& x) {
    return map("square", x, [](Whole value) { return signed_of(bits(value) * bits(value)); });
}

Tensor sign(const Tensor& x) {
    return map("sign", x, [](Whole value) { return Whole{value > 0} - Whole{value < 0}; });
}

Tensor pow(const Tensor& a, const Tensor& b) {
    check_both("pow", a, b);
    const auto negative = [](Whole exponent) { return exponent < 0; };
    if (const auto place = first_place(b, negative)) {
        fail<ValueError>(
            "pow: the exponent {} is negative, and i64 has no fractions; convert with "
            "to()",
            b.rank() == 0 ? fmt::format("{}", b.item<Whole>())
                          : fmt::format("at {} of {}", *place, b.shape()));
    }
    return map("pow", a, b, power);
}

Tensor div(const Tensor& a, const Tensor& b) {
    check_both("div", a, b);
    return cast(tapestry::div(in_f64(a), in_f64(b)), DType::f32);
}

Tensor div(const Tensor& a, double b) {
    check_whole("div", a);
    return cast(tapestry::div(in_f64(a), b), DType::f32);
}

Tensor div(double a, const Tensor& b) {
    check_whole("div", b);
    return cast(a / in_f64(b), DType::f32);
}

Tensor clamp(const Tensor& x, double low, double high) {
    check_whole("clamp", x);
    const auto bound = [](double value) {
        require(std::isinf(value) || is_whole(value),
                "clamp: {} is neither an integer nor infinite, but the tensor is i64", value);
        return convert_element<Whole>(value);
    };
    return map("clamp", x, [from = bound(low), to = bound(high)](Whole value) {
        return std::clamp(value, from, to);
    });
}

Tensor number(std::string_view op, const Tensor& x, double value) {
    check_whole(op, x);
    require(is_whole(value),
            "{}: {} is not a 64-bit integer, but the tensor is i64; convert it with to()", op,
            value);
    return scalar(value, DType::i64);
}

std::optional<Shape> first_place(const Tensor& x, bool (*wrong)(Whole)) {
    const Tensor all = dense(x);
    const Whole* from = all.data<Whole>();
    const Whole* found = std::find_if(from, from + all.numel(), wrong);
    if (found == from + all.numel()) return {};
    return unravel_index(found - from, x.shape());
}

}  // namespace tapestry::integer
