// Some elements replaced by a constant.
#pragma once

#include <tapestry/ops/catalog/reference/array.h>

namespace tapestry::reference {

/// x where the mask is 0, else value
template <class T>
Array<T> masked_fill(const Array<T>& x, const Array<T>& mask, double value) {
    return map(x, mask, [value](T a, T m) { return m != T(0) ? T(value) : a; });
}

/// x[..., i, j] where keep(i, j), else 0
template <class T, class F>
Array<T> triangle(const Array<T>& x, F keep) {
    Array<T> y(x.shape);
    const int rank = x.shape.rank();
    for (std::int64_t n = 0; n < y.size(); ++n) {
        const Shape index = unravel(x.shape, n);
        if (keep(index[rank - 2], index[rank - 1])) y[n] = x[n];
    }
    return y;
}

}  // namespace tapestry::reference
