// Batches of matrices, whose axes are all but the last two: for ops that call a kernel once per
// matrix. Internal to ops.
#pragma once

#include <tapestry/core/tensor.h>
#include <tapestry/ops/view.h>

namespace tapestry {

/// Every matrix transposed.
inline Tensor transposed(const Tensor& x) { return transpose(x, -2, -1); }

/// Axes before the last two. The rank is at least 2.
inline Shape leading_shape(const Tensor& x) { return x.shape().sub(0, x.rank() - 2); }

/// Strides that walk the leading axes of x as those of `leading`, to which they broadcast.
inline Strides leading_strides(const Tensor& x, const Shape& leading) {
    Strides strides = Shape::filled(leading.rank(), 0);
    const int own = x.rank() - 2;
    for (int i = 0; i < own; ++i) {
        strides[leading.rank() - own + i] = x.shape()[i] == 1 ? 0 : x.strides()[i];
    }
    return strides;
}

/// Where element `index` of `shape`, counted in row-major order, lies under `strides`.
inline std::int64_t offset_at(std::int64_t index, const Shape& shape, const Strides& strides) {
    std::int64_t offset = 0;
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
        offset += index % shape[axis] * strides[axis];
        index /= shape[axis];
    }
    return offset;
}

}  // namespace tapestry
