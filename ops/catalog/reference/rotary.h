// Rotary positions, pair by pair: Su et al. 2021, equation 34.
#pragma once

#include <tapestry/ops/catalog/reference/array.h>

#include <cmath>

namespace tapestry::reference {

/// x [..., T, D] with pair i of row t turned by the angle (first + t) / base^(2 i / turned), for
/// the first `turned` numbers of each row. Pair i is (x_2i, x_2i+1), or with `halves` (x_i,
/// x_i+R/2).
template <class T>
Array<T> rotary(const Array<T>& x, std::int64_t turned, bool halves, std::int64_t first,
                double base) {
    Array<T> y = x;
    const std::int64_t width = x.shape.back(), length = x.shape[x.shape.rank() - 2];
    for (std::int64_t row = 0; width > 0 && row < x.size() / width; ++row) {
        for (std::int64_t i = 0; i < turned / 2; ++i) {
            const double angle =
                static_cast<double>(first + row % length) *
                std::pow(base, -2 * static_cast<double>(i) / static_cast<double>(turned));
            const std::int64_t a = row * width + (halves ? i : 2 * i);
            const std::int64_t b = a + (halves ? turned / 2 : 1);
            y[a] = x[a] * T(std::cos(angle)) - x[b] * T(std::sin(angle));
            y[b] = x[a] * T(std::sin(angle)) + x[b] * T(std::cos(angle));
        }
    }
    return y;
}

}  // namespace tapestry::reference
