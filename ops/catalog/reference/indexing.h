// Reading, adding and selecting by index and by mask. Indices are ordinary arrays of numbers.
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

/// Offset in a tensor of `shape` to which element i of ids points.
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

/// The element of source at the position of element i of ids.
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

// ---- parts --------------------------------------------------------------------------------------
// Selected by masks and by indices along several axes. For positions and slices see pick in view.h.

/// ids as indices from the start; negative ones count from the end of `size`.
template <class T>
Array<T> from_start(const Array<T>& ids, std::int64_t size) {
    return map(ids, [size](const T& id) { return id < T(0) ? id + T(double(size)) : id; });
}

/// The elements of x where mask is nonzero, both broadcast together, in row-major order.
template <class T>
Array<T> masked_select(const Array<T>& x, const Array<T>& mask) {
    const Shape together = broadcast_shapes("reference", x.shape, mask.shape);
    Array<T> y;
    for (std::int64_t i = 0; i < numel(together); ++i) {
        const Shape index = unravel(together, i);
        if (as_index(mask[ravel_broadcast(mask.shape, index)]) == 0) continue;
        y.data.push_back(x[ravel_broadcast(x.shape, index)]);
    }
    y.shape = {y.size()};
    return y;
}

/// The rows x[i, ...] for every multi-index i at which mask is nonzero.
template <class T>
Array<T> masked_rows(const Array<T>& x, const Array<T>& mask) {
    const std::int64_t width = numel(x.shape.sub(mask.shape.rank(), x.shape.rank()));
    Array<T> y;
    y.shape = x.shape.sub(mask.shape.rank(), x.shape.rank());
    y.shape.insert(0, 0);
    for (std::int64_t i = 0; i < mask.size(); ++i) {
        if (as_index(mask[i]) == 0) continue;
        ++y.shape[0];
        for (std::int64_t c = 0; c < width; ++c) y.data.push_back(x[i * width + c]);
    }
    return y;
}

/// [n, rank]: the index of each nonzero element.
template <class T>
Array<T> nonzero(const Array<T>& x) {
    Array<T> table;
    std::int64_t n = 0;
    for (std::int64_t i = 0; i < x.size(); ++i) {
        if (static_cast<double>(x[i]) == 0) continue;
        ++n;
        for (const std::int64_t place : unravel(x.shape, i)) {
            table.data.push_back(T(static_cast<double>(place)));
        }
    }
    table.shape = {n, x.shape.rank()};
    return table;
}

/// y[a, i..., b] = x[a, rows[i...], columns[i...], b], rows and columns broadcast together;
/// x [A, M, N, B]
template <class T>
Array<T> two_axes(const Array<T>& x, const Array<T>& rows, const Array<T>& columns) {
    const Array<T> ids0 = from_start(rows, x.shape[1]), ids1 = from_start(columns, x.shape[2]);
    const Shape chosen = broadcast_shapes("reference", ids0.shape, ids1.shape);
    Shape shape = chosen;
    shape.insert(0, x.shape[0]);
    shape.push_back(x.shape[3]);
    Array<T> y(shape);
    for (std::int64_t i = 0; i < y.size(); ++i) {
        const Shape index = unravel(shape, i);
        const Shape at = index.sub(1, index.rank() - 1);
        const Shape from{index[0], as_index(ids0[ravel_broadcast(ids0.shape, at)]),
                         as_index(ids1[ravel_broadcast(ids1.shape, at)]), index.back()};
        y[i] = x[ravel_broadcast(x.shape, from)];
    }
    return y;
}

/// y = x; y[i, 2 j] = values[i, j], broadcast; x [M, N]
template <class T>
Array<T> put_in_every_second(const Array<T>& x, const Array<T>& values) {
    Array<T> y = x;
    const Shape part{x.shape[0], (x.shape[1] + 1) / 2};
    for (std::int64_t i = 0; i < numel(part); ++i) {
        const Shape at = unravel(part, i);
        y[at[0] * x.shape[1] + 2 * at[1]] = values[ravel_broadcast(values.shape, at)];
    }
    return y;
}

/// y = x; y[rows[i], c] += values[i, c]; x [M, C]
template <class T>
Array<T> add_to_rows(const Array<T>& x, const Array<T>& rows, const Array<T>& values) {
    const Array<T> ids = from_start(rows, x.shape[0]);
    Array<T> y = x;
    const std::int64_t width = x.shape[1];
    for (std::int64_t i = 0; i < values.size(); ++i) {
        y[as_index(ids[i / width]) * width + i % width] += values[i];
    }
    return y;
}

}  // namespace tapestry::reference
