// Batches of matrices (the last two axes), for ops that call a kernel once per matrix; and tensors
// whose rows make one matrix. Internal to ops.
#pragma once

#include <tapestry/core/tensor.h>
#include <tapestry/ops/check.h>
#include <tapestry/ops/view.h>

namespace tapestry {

/// Transposes every matrix.
inline Tensor transposed(const Tensor& x) { return transpose(x, -2, -1); }

/// x in another shape; x itself if it has that.
inline Tensor reshaped(const Tensor& x, const Shape& shape) {
    return x.shape() == shape ? x : reshape(x, shape);
}

/// [..., C] -> [R, C]: the shape of all rows as one matrix.
inline Shape rows_shape(const Shape& shape) {
    return {numel(shape.sub(0, shape.rank() - 1)), shape.back()};
}

/// All rows of x as one matrix: [..., C] -> [R, C].
inline Tensor as_rows(const Tensor& x) { return reshaped(x, rows_shape(x.shape())); }

/// The axes before the last two; x has rank 2 or more.
inline Shape leading_shape(const Tensor& x) { return x.shape().sub(0, x.rank() - 2); }

/// Strides that walk the leading axes of x broadcast to `leading`.
inline Strides leading_strides(const Tensor& x, const Shape& leading) {
    Strides strides = Shape::filled(leading.rank(), 0);
    const int own = x.rank() - 2;
    for (int i = 0; i < own; ++i) {
        strides[leading.rank() - own + i] = x.shape()[i] == 1 ? 0 : x.strides()[i];
    }
    return strides;
}

/// Offset under `strides` of the element with row-major index `index` in `shape`.
inline std::int64_t offset_at(std::int64_t index, const Shape& shape, const Strides& strides) {
    std::int64_t offset = 0;
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
        offset += index % shape[axis] * strides[axis];
        index /= shape[axis];
    }
    return offset;
}

/// Throws DTypeError or ShapeError unless `a` is floating-point [..., N, N].
inline void check_square(std::string_view op, const Tensor& a) {
    check_floating(op, a);
    require<ShapeError>(a.rank() >= 2 && a.size(-1) == a.size(-2),
                        "{}: needs square matrices, got {}", op, a.shape());
}

}  // namespace tapestry
