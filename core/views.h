// Views: the same memory, walked differently. They copy nothing and know nothing of gradients: the
// results are constants. Users call the functions of the same names in ops, which record. A stride
// may be 0 (expand) or negative (slice): the offset is always that of the first element.
#pragma once

#include <tapestry/core/tensor.h>

#include <optional>
#include <vector>

namespace tapestry::views {

/// `x` walked with `shape` if its strides allow that without a copy, else nullopt. The number of
/// elements must match (ShapeError).
std::optional<Tensor> try_reshape(const Tensor& x, const Shape& shape);

/// As try_reshape, but copies if necessary.
Tensor reshape(const Tensor& x, const Shape& shape);

/// Axis i of the result is axis order[i] of x.
Tensor permute(const Tensor& x, const std::vector<int>& order);

/// Exchanges two axes, which may count from the end. Throws ShapeError outside the rank.
Tensor transpose(const Tensor& x, int axis0, int axis1);

/// Elements start, start + step, ... up to but excluding stop along `axis`. As in Python, bounds
/// may count from the end and are clipped; with a negative step the walk is backwards, and a stop
/// below -size includes the first element. Throws ValueError for a step of 0.
Tensor slice(const Tensor& x, int axis, std::int64_t start, std::int64_t stop,
             std::int64_t step = 1);

/// Element `index` along `axis`, which is removed; an index may count from the end. `op` names the
/// caller in the IndexError.
Tensor select(std::string_view op, const Tensor& x, int axis, std::int64_t index);

/// Windows of `size` elements along `axis`, each `step` after the previous one: the axis now counts
/// windows, and a new last axis runs through each. Throws ShapeError for a size beyond the axis.
Tensor unfold(const Tensor& x, int axis, std::int64_t size, std::int64_t step);

/// x[..., i, ..., i + offset, ...] for every such i: removes two axes and appends one that counts
/// i.
Tensor diagonal(const Tensor& x, std::int64_t offset, int axis0, int axis1);

/// x repeated (stride 0) to `shape`, to which it must broadcast.
Tensor expand(const Tensor& x, const Shape& shape);

/// The tensor whose slices along `axis` are `pieces`, in order, if they are laid out in memory as
/// such; else nullopt. At least one piece.
std::optional<Tensor> try_join(const Tensors& pieces, int axis);

/// Resolves one -1 in `shape` so that it holds `count` elements. Throws ShapeError.
Shape infer_shape(std::string_view op, const Shape& shape, std::int64_t count);

}  // namespace tapestry::views
