// Running sums and products by definition.
#pragma once

#include <tapestry/ops/catalog/reference/array.h>

namespace tapestry::reference {

/// y_i = x_0 + ... + x_i along `axis`, counted from 0.
template <class T>
Array<T> cumsum(const Array<T>& x, int axis) {
    const std::int64_t step = contiguous_strides(x.shape)[axis];
    Array<T> y = x;
    for (std::int64_t i = 0; i < x.size(); ++i) {
        if (unravel(x.shape, i)[axis] > 0) y[i] += y[i - step];
    }
    return y;
}

/// y_i = x_0 x_1 ... x_i along `axis`, counted from 0.
template <class T>
Array<T> cumprod(const Array<T>& x, int axis) {
    const std::int64_t step = contiguous_strides(x.shape)[axis];
    Array<T> y = x;
    for (std::int64_t i = 0; i < x.size(); ++i) {
        if (unravel(x.shape, i)[axis] > 0) y[i] *= y[i - step];
    }
    return y;
}

}  // namespace tapestry::reference
