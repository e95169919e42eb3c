// The same elements in another order, or several times: where each element of the result comes
// from.
#pragma once

#include <tapestry/ops/catalog/reference/view.h>

#include <algorithm>

namespace tapestry::reference {

/// y[..., i, ...] = x[..., source(i), ...] along an axis that has `size` elements in y.
template <class T, class F>
Array<T> along(const Array<T>& x, int axis, std::int64_t size, F source) {
    Shape shape = x.shape;
    shape[axis] = size;
    return pick(x, shape, [&](Shape index) {
        index[axis] = source(index[axis]);
        return index;
    });
}

template <class T>
Array<T> flip(const Array<T>& x, int axis) {
    const std::int64_t n = x.shape[axis];
    return along(x, axis, n, [n](std::int64_t i) { return n - 1 - i; });
}

template <class T>
Array<T> roll(const Array<T>& x, std::int64_t shift, int axis) {
    const std::int64_t n = x.shape[axis];
    return along(x, axis, n, [=](std::int64_t i) { return ((i - shift) % n + n) % n; });
}

template <class T>
Array<T> repeat(const Array<T>& x, std::int64_t count, int axis) {
    const std::int64_t n = x.shape[axis];
    return along(x, axis, n * count, [n](std::int64_t i) { return i % n; });
}

/// y[..., w, ..., k] = x[..., w step + k, ...]
template <class T>
Array<T> unfold(const Array<T>& x, int axis, std::int64_t size, std::int64_t step) {
    Shape shape = x.shape;
    shape[axis] = (shape[axis] - size) / step + 1;
    shape.push_back(size);
    return pick(x, shape, [&](Shape index) {
        const std::int64_t k = index.back();
        index.erase(index.rank() - 1);
        index[axis] = index[axis] * step + k;
        return index;
    });
}

/// y[i] = x[i, i + offset], from the first such i on
template <class T>
Array<T> diagonal(const Array<T>& x, std::int64_t offset) {
    const std::int64_t row = std::max<std::int64_t>(0, -offset);
    const std::int64_t count = std::min(x.shape[0] - row, x.shape[1] - row - offset);
    const Shape shape{std::max<std::int64_t>(0, count)};
    return pick(x, shape, [&](const Shape& index) {
        return Shape{row + index[0], row + index[0] + offset};
    });
}

/// The matrix of which x is this diagonal.
template <class T>
Array<T> from_diagonal(const Array<T>& x, std::int64_t offset) {
    const std::int64_t side = x.size() + std::max(offset, -offset);
    const std::int64_t row = std::max<std::int64_t>(0, -offset);
    Array<T> y(Shape{side, side});
    for (std::int64_t i = 0; i < x.size(); ++i) y[(row + i) * side + row + i + offset] = x[i];
    return y;
}

}  // namespace tapestry::reference
