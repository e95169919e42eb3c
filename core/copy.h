// Moving elements between layouts and element types.
#pragma once

#include <tapestry/core/tensor.h>

namespace tapestry {

/// to[...] = from[...], broadcasting `from` and converting element types as C++ does. Throws
/// ShapeError when `from` does not broadcast to the shape of `to`.
void copy_elements(const Tensor& from, Tensor& to);

/// to[...] = value
void fill_elements(Tensor& to, double value);

/// `x` itself if it is row-major without gaps, else a copy that is. The result is a constant.
Tensor dense(const Tensor& x);

/// `x` with elements of `dtype`, itself if it has them. The result is a constant.
Tensor cast(const Tensor& x, DType dtype);

}  // namespace tapestry
