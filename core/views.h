// Views: the same memory, walked differently. No copies, and no idea of gradients: what these
// return is a constant. Users call the functions of the same names in ops, which record. A stride
// may be 0 (expand) or negative (slice): the offset is that of the first element, wherever the
// others lie.
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

/// Elements start, start + step, ... up to but without stop along `axis`. Like Python's, bounds may
/// count from the end and are clipped; with a negative step the walk is backwards, and a stop below
/// -size lets it come to the first element. Throws ValueError for a step of 0.
Tensor slice(const Tensor& x, int axis, std::int64_t start, std::int64_t stop,
             std::int64_t step = 1);

/// Element `index` along `axis`, which vanishes; an index may count from the end. `op` names the
/// caller in the IndexError.
Tensor select(std::string_view op, const Tensor& x, int axis, std::int64_t index);

/// Windows of `size` elements along `axis`, each `step` after the one before: the axis counts the
/// windows, a new last one goes through each. Throws ShapeError for a size beyond the axis.
Tensor unfold(const Tensor& x, int axis, std::int64_t size, std::int64_t step);

/// x[..., i, ..., i + offset, ...] for every such i: two axes vanish, a new last one counts i.
Tensor diagonal(const Tensor& x, std::int64_t offset, int axis0, int axis1);

/// x repeated (stride 0) to `shape`, to which it must broadcast.
Tensor expand(const Tensor& x, const Shape& shape);

/// The tensor of which `pieces`, in order, are the slices along `axis`, if they lie in memory as
/// such; else nothing. At least one piece.
std::optional<Tensor> try_join(const Tensors& pieces, int axis);

/// Resolves one -1 in `shape` so that it holds `count` elements. Throws ShapeError.
Shape infer_shape(std::string_view op, const Shape& shape, std::int64_t count);

}  // namespace tapestry::views
