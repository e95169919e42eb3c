// Matrix products as three loops.
#pragma once

#include <tapestry/ops/catalog/reference/array.h>

namespace tapestry::reference {

/// y[..., m, n] = sum_k a[..., m, k] b[..., k, n], batches broadcast; ranks of 2 and more.
template <class T>
Array<T> matmul(const Array<T>& a, const Array<T>& b) {
    const auto batch = [](const Array<T>& x) { return x.shape.sub(0, x.shape.rank() - 2); };
    Shape shape = broadcast_shapes("reference", batch(a), batch(b));
    const std::int64_t inner = a.shape.back();
    shape.push_back(a.shape[a.shape.rank() - 2]);
    shape.push_back(b.shape.back());
    Array<T> y(shape);
    const int row = shape.rank() - 2;
    for (std::int64_t i = 0; i < y.size(); ++i) {
        for (std::int64_t k = 0; k < inner; ++k) {
            Shape of_a = unravel(shape, i);
            Shape of_b = of_a;
            of_a[row + 1] = k;
            of_b[row] = k;
            y[i] += a[ravel_broadcast(a.shape, of_a)] * b[ravel_broadcast(b.shape, of_b)];
        }
    }
    return y;
}

/// y[..., o] = sum_i x[..., i] weight[o, i] + bias[o]; bias may be null.
template <class T>
Array<T> linear(const Array<T>& x, const Array<T>& weight, const Array<T>* bias) {
    const std::int64_t in = weight.shape[1];
    const std::int64_t out = weight.shape[0];
    Shape shape = x.shape;
    shape.back() = out;
    Array<T> y(shape);
    for (std::int64_t i = 0; i < y.size(); ++i) {
        const std::int64_t row = i / out;
        const std::int64_t o = i % out;
        if (bias != nullptr) y[i] = (*bias)[o];
        for (std::int64_t k = 0; k < in; ++k) y[i] += x[row * in + k] * weight[o * in + k];
    }
    return y;
}

}  // namespace tapestry::reference
