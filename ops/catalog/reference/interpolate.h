// Images of another size, pixel by pixel.
#pragma once

#include <tapestry/ops/catalog/reference/array.h>

#include <algorithm>
#include <cmath>

namespace tapestry::reference {

/// How much pixel i of `from` gives to pixel p of `to`.
inline double interpolation_weight(std::int64_t from, std::int64_t to, std::int64_t i,
                                   std::int64_t p, bool linear) {
    const double scale = static_cast<double>(from) / static_cast<double>(to);
    if (!linear)
        return std::floor(static_cast<double>(p) * scale) == static_cast<double>(i) ? 1 : 0;
    const double edge = static_cast<double>(from - 1);
    const double at = std::clamp((static_cast<double>(p) + 0.5) * scale - 0.5, 0.0, edge);
    return std::max(0.0, 1 - std::abs(at - static_cast<double>(i)));
}

/// y[n, c, p, q] = sum_i,j weight(i, p) weight(j, q) x[n, c, i, j]
template <class T>
Array<T> interpolate(const Array<T>& x, std::int64_t rows, std::int64_t columns, bool linear) {
    Array<T> y({x.shape[0], x.shape[1], rows, columns});
    for (std::int64_t flat = 0; flat < y.size(); ++flat) {
        const Shape at = unravel(y.shape, flat);
        for (std::int64_t i = 0; i < x.shape[2]; ++i) {
            for (std::int64_t j = 0; j < x.shape[3]; ++j) {
                const double weight = interpolation_weight(x.shape[2], rows, i, at[2], linear) *
                                      interpolation_weight(x.shape[3], columns, j, at[3], linear);
                const std::int64_t plane = at[0] * x.shape[1] + at[1];
                y[flat] += T(weight) * x[(plane * x.shape[2] + i) * x.shape[3] + j];
            }
        }
    }
    return y;
}

}  // namespace tapestry::reference
