// Views: the same memory, walked differently. No copies, and no idea of gradients: what these
// return is a constant. Users call the functions of the same names in ops/view.h, which record.
#pragma once

#include <tapestry/core/tensor.h>

#include <optional>
#include <vector>

namespace tapestry::views {

/// `x` walked with `shape`, when its strides allow it without a copy; else nothing. The number of
/// elements must agree (ShapeError).
std::optional<Tensor> try_reshape(const Tensor& x, const Shape& shape);

/// As try_reshape, with a copy where there is no other way.
Tensor reshape(const Tensor& x, const Shape& shape);

/// Axis i of the result is axis order[i] of x.
Tensor permute(const Tensor& x, const std::vector<int>& order);

Tensor transpose(const Tensor& x, int axis0, int axis1);

/// Elements start, start + step, ... below stop along `axis`. Like Python's, bounds may count from
/// the end and are clipped; step >= 1.
Tensor slice(const Tensor& x, int axis, std::int64_t start, std::int64_t stop,
             std::int64_t step = 1);

/// x repeated (stride 0) to `shape`, to which it must broadcast.
Tensor expand(const Tensor& x, const Shape& shape);

/// The tensor of which `pieces`, in order, are the slices along `axis`, if they lie in memory as
/// such; else nothing. At least one piece.
std::optional<Tensor> try_join(const Tensors& pieces, int axis);

/// Resolves one -1 in `shape` so that it holds `count` elements. Throws ShapeError.
Shape infer_shape(std::string_view op, const Shape& shape, std::int64_t count);

}  // namespace tapestry::views
