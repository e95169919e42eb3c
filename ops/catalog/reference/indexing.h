// Reading and adding by index. Indices are arrays of numbers like all others here.
#pragma once

#include <tapestry/ops/catalog/reference/array.h>

namespace tapestry::reference {

template <class T>
std::int64_t as_index(const T& x) {
    return static_cast<std::int64_t>(static_cast<double>(x));
}

/// y[a, i, b] = x[a, ids[i], b]
template <class T>
Array<T> index_select(const Array<T>& x, int axis, const Array<T>& ids) {
    Shape shape = x.shape;
    shape[axis] = ids.size();
    Array<T> y(shape);
    for (std::int64_t i = 0; i < y.size(); ++i) {
        Shape index = unravel(shape, i);
        index[axis] = as_index(ids[index[axis]]);
        y[i] = x[ravel_broadcast(x.shape, index)];
    }
    return y;
}

/// y[..., c] = weight[ids[...], c]
template <class T>
Array<T> embedding(const Array<T>& weight, const Array<T>& ids) {
    const std::int64_t columns = weight.shape[1];
    Shape shape = ids.shape;
    shape.push_back(columns);
    Array<T> y(shape);
    for (std::int64_t i = 0; i < ids.size(); ++i) {
        for (std::int64_t c = 0; c < columns; ++c) {
            y[i * columns + c] = weight[as_index(ids[i]) * columns + c];
        }
    }
    return y;
}

/// Where element i of ids points to in a tensor of `shape`.
template <class T>
std::int64_t target(const Array<T>& ids, std::int64_t i, const Shape& shape, int axis) {
    Shape index = unravel(ids.shape, i);
    std::int64_t flat = 0;
    index[axis] = as_index(ids[i]);
    for (int a = 0; a < shape.rank(); ++a) flat = flat * shape[a] + index[a];
    return flat;
}

/// y[i, j, k] = x[ids[i, j, k], j, k] (axis 0)
template <class T>
Array<T> gather(const Array<T>& x, int axis, const Array<T>& ids) {
    Array<T> y(ids.shape);
    for (std::int64_t i = 0; i < y.size(); ++i) y[i] = x[target(ids, i, x.shape, axis)];
    return y;
}

/// The element of source that stands where element i of ids does.
template <class T>
const T& source_of(const Array<T>& source, const Array<T>& ids, std::int64_t i) {
    const Shape index = unravel(ids.shape, i);
    std::int64_t from = 0;
    for (int a = 0; a < index.rank(); ++a) from = from * source.shape[a] + index[a];
    return source[from];
}

/// y = x; y[ids[i, j, k], j, k] += source[i, j, k] (axis 0)
template <class T>
Array<T> scatter_add(const Array<T>& x, int axis, const Array<T>& ids, const Array<T>& source) {
    Array<T> y = x;
    for (std::int64_t i = 0; i < ids.size(); ++i) {
        y[target(ids, i, x.shape, axis)] += source_of(source, ids, i);
    }
    return y;
}

/// y = x; y[ids[i, j, k], j, k] = source[i, j, k] (axis 0), in row-major order
template <class T>
Array<T> scatter(const Array<T>& x, int axis, const Array<T>& ids, const Array<T>& source) {
    Array<T> y = x;
    for (std::int64_t i = 0; i < ids.size(); ++i) {
        y[target(ids, i, x.shape, axis)] = source_of(source, ids, i);
    }
    return y;
}

template <class T>
Array<T> one_hot(const Array<T>& ids, std::int64_t classes) {
    Shape shape = ids.shape;
    shape.push_back(classes);
    Array<T> y(shape);
    for (std::int64_t i = 0; i < ids.size(); ++i) y[i * classes + as_index(ids[i])] = T(1);
    return y;
}

}  // namespace tapestry::reference
