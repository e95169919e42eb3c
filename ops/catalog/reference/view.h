// The same numbers under another shape: where each element of the result comes from.
#pragma once

#include <tapestry/ops/catalog/reference/array.h>

namespace tapestry::reference {

/// y[index] = x[source(index)] for every index of `shape`. `source` maps an index to an index.
template <class T, class F>
Array<T> pick(const Array<T>& x, const Shape& shape, F source) {
    Array<T> y(shape);
    for (std::int64_t i = 0; i < y.size(); ++i) {
        y[i] = x[ravel_broadcast(x.shape, source(unravel(shape, i)))];
    }
    return y;
}

template <class T>
Array<T> reshape(Array<T> x, const Shape& shape) {
    x.shape = shape;  // the row-major order stays
    return x;
}

/// y[i_order[0], i_order[1], ...] = x[i_0, i_1, ...]
template <class T>
Array<T> permute(const Array<T>& x, const std::vector<int>& order) {
    Shape shape;
    for (const int axis : order) shape.push_back(x.shape[axis]);
    return pick(x, shape, [&](const Shape& index) {
        Shape from = x.shape;
        for (int i = 0; i < index.rank(); ++i) from[order[static_cast<std::size_t>(i)]] = index[i];
        return from;
    });
}

template <class T>
Array<T> transpose(const Array<T>& x, int axis0, int axis1) {
    std::vector<int> order;
    for (int axis = 0; axis < x.shape.rank(); ++axis) {
        order.push_back(axis == axis0 ? axis1 : axis == axis1 ? axis0 : axis);
    }
    return permute(x, order);
}

/// `count` elements from `start` on along an axis, `step` apart.
template <class T>
Array<T> slice(const Array<T>& x, int axis, std::int64_t start, std::int64_t count,
               std::int64_t step = 1) {
    Shape shape = x.shape;
    shape[axis] = count;
    return pick(x, shape, [&](Shape index) {
        index[axis] = start + step * index[axis];
        return index;
    });
}

template <class T>
Array<T> expand(const Array<T>& x, const Shape& shape) {
    return pick(x, shape, [](const Shape& index) { return index; });
}

}  // namespace tapestry::reference
