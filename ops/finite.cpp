#include <tapestry/ops/finite.h>

#include <tapestry/core/create.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/check.h>
#include <tapestry/ops/comparison.h>
#include <tapestry/ops/map_plain.h>

#include <cmath>
#include <limits>

namespace tapestry {
namespace {

// `holds` asks it of a double: no float changes its kind on the way there.
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

double largest_of(DType dtype) {
    switch (dtype) {
        case DType::f16: return 65504;
        case DType::bf16: return f64_from_bf16(0x7f7f);
        case DType::f32: return static_cast<double>(std::numeric_limits<float>::max());
        default: return std::numeric_limits<double>::max();
    }
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
    const double largest = largest_of(x.dtype());
    const Tensor infinite = where(gt(x, 0), number(positive_infinity.value_or(largest)),
                                  number(negative_infinity.value_or(-largest)));
    return where(isfinite(x), x, where(isnan(x), number(nan), infinite));
}

}  // namespace tapestry
