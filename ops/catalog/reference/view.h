// Views, reordering, repetition, joining and masking: the source of each element of the result.
#pragma once

#include <tapestry/ops/catalog/reference/array.h>

#include <algorithm>

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
    x.shape = shape;  // row-major order is unchanged
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

/// `count` elements along an axis from `start` on, `step` apart.
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

// ---- reordering and repetition ------------------------------------------------------------------

/// y[..., i, ...] = x[..., source(i), ...] along an axis of size `size` in y.
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

/// y[i] = x[i, i + offset], from the first valid i on
template <class T>
Array<T> diagonal(const Array<T>& x, std::int64_t offset) {
    const std::int64_t row = std::max<std::int64_t>(0, -offset);
    const std::int64_t count = std::min(x.shape[0] - row, x.shape[1] - row - offset);
    const Shape shape{std::max<std::int64_t>(0, count)};
    return pick(x, shape, [&](const Shape& index) {
        return Shape{row + index[0], row + index[0] + offset};
    });
}

/// The matrix with x as this diagonal.
template <class T>
Array<T> from_diagonal(const Array<T>& x, std::int64_t offset) {
    const std::int64_t side = x.size() + std::max(offset, -offset);
    const std::int64_t row = std::max<std::int64_t>(0, -offset);
    Array<T> y(Shape{side, side});
    for (std::int64_t i = 0; i < x.size(); ++i) y[(row + i) * side + row + i + offset] = x[i];
    return y;
}

// ---- joining ------------------------------------------------------------------------------------

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

/// y[index] = x[index - before] where that is inside x, else value
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

// ---- masking ------------------------------------------------------------------------------------

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
