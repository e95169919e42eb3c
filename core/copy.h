// Moving elements between layouts and element types.
#pragma once

#include <tapestry/core/tensor.h>

#include <cstddef>
#include <span>

namespace tapestry {

/// to[...] = from[...], broadcasting `from` and converting element types (convert_element). They
/// may overlap: the result is as if `from` had been read first. Throws ShapeError when `from` does
/// not broadcast to the shape of `to`, or when `to` is expanded (several elements in one place).
void copy_elements(const Tensor& from, Tensor& to);

/// to[...] = value, converted likewise. Throws ShapeError when `to` is expanded.
void fill_elements(Tensor& to, double value);

/// `x` itself if it is row-major without gaps, else a dense copy. The result is a constant.
Tensor dense(const Tensor& x);

/// `x` with elements of `dtype`; `x` itself if it has that dtype. The result is a constant.
Tensor cast(const Tensor& x, DType dtype);

/// The elements of x as they are in memory. Throws ShapeError unless x is contiguous.
std::span<const std::byte> bytes_of(const Tensor& x);
/// The same to write to.
std::span<std::byte> mutable_bytes_of(Tensor& x);

}  // namespace tapestry
