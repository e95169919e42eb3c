// The data type of the scalar definitions: a shape and its numbers in row-major order. Computed
// with dual numbers, a definition's values are the reference for every SIMD path, and its slopes
// the derivative that the op's backward rule must match.
#pragma once

#include <tapestry/autograd/check/dual.h>
#include <tapestry/core/shape.h>

#include <vector>

namespace tapestry::reference {

template <class T>
struct Array {
    Shape shape;
    std::vector<T> data;

    Array() = default;
    explicit Array(const Shape& s, T fill = T(0))
        : shape(s), data(static_cast<std::size_t>(numel(s)), fill) {}

    T& operator[](std::int64_t i) { return data[static_cast<std::size_t>(i)]; }
    const T& operator[](std::int64_t i) const { return data[static_cast<std::size_t>(i)]; }
    std::int64_t size() const { return static_cast<std::int64_t>(data.size()); }
};

template <class T>
using Arrays = std::vector<Array<T>>;

/// The multi-index of element `flat`.
inline Shape unravel(const Shape& shape, std::int64_t flat) {
    Shape index = shape;
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
        index[axis] = shape[axis] == 0 ? 0 : flat % shape[axis];
        flat /= shape[axis] == 0 ? 1 : shape[axis];
    }
    return index;
}

/// Offset of `index` in an array of `shape`, aligned at the last axis; axes of size 1 repeat.
inline std::int64_t ravel_broadcast(const Shape& shape, const Shape& index) {
    std::int64_t flat = 0;
    for (int axis = 0; axis < shape.rank(); ++axis) {
        const std::int64_t i = index[axis + index.rank() - shape.rank()];
        flat = flat * shape[axis] + (shape[axis] == 1 ? 0 : i);
    }
    return flat;
}

/// y[i] = f(x[i])
template <class T, class F>
Array<T> map(const Array<T>& x, F f) {
    Array<T> y(x.shape);
    for (std::int64_t i = 0; i < y.size(); ++i) y[i] = f(x[i]);
    return y;
}

/// y[i] = f(a[i], b[i]), with broadcasting.
template <class T, class F>
Array<T> map(const Array<T>& a, const Array<T>& b, F f) {
    Array<T> y(broadcast_shapes("reference", a.shape, b.shape));
    for (std::int64_t i = 0; i < y.size(); ++i) {
        const Shape index = unravel(y.shape, i);
        y[i] = f(a[ravel_broadcast(a.shape, index)], b[ravel_broadcast(b.shape, index)]);
    }
    return y;
}

}  // namespace tapestry::reference
