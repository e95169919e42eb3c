// Tensors laid one after the other.
#pragma once

#include <tapestry/ops/catalog/reference/array.h>

namespace tapestry::reference {

/// y[..., i, ...] = x_j[..., i - (sizes of those before x_j), ...]
template <class T>
Array<T> concat(const Arrays<T>& x, int axis) {
    Shape shape = x[0].shape;
    for (std::size_t j = 1; j < x.size(); ++j) shape[axis] += x[j].shape[axis];
    Array<T> y(shape);
    for (std::int64_t i = 0; i < y.size(); ++i) {
        Shape index = unravel(shape, i);
        std::size_t j = 0;
        for (; index[axis] >= x[j].shape[axis]; ++j) index[axis] -= x[j].shape[axis];
        y[i] = x[j][ravel_broadcast(x[j].shape, index)];
    }
    return y;
}

/// y[index] = x[index - before] where that lies in x, else value
template <class T>
Array<T> pad(const Array<T>& x, const Shape& before, const Shape& after, double value) {
    Shape shape = x.shape;
    for (int axis = 0; axis < shape.rank(); ++axis) shape[axis] += before[axis] + after[axis];
    Array<T> y(shape, T(value));
    for (std::int64_t i = 0; i < x.size(); ++i) {
        Shape index = unravel(x.shape, i);
        for (int axis = 0; axis < shape.rank(); ++axis) index[axis] += before[axis];
        y[ravel_broadcast(shape, index)] = x[i];
    }
    return y;
}

}  // namespace tapestry::reference
