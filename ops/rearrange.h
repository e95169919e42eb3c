// The same elements in another order, or several times.
//
// All take any dtype. Compositions of views and joins (view.h, join.h), whose gradients are theirs.
#pragma once

#include <tapestry/autograd/tape.h>

#include <string_view>
#include <vector>

namespace tapestry {

/// x backwards along these axes; a view. Throws ShapeError for an axis named twice. Gradient: g,
/// flipped likewise.
Tensor flip(const Tensor& x, const std::vector<int>& axes);

/// x with its elements `shift` places further along `axis`; those that leave at the end come in at
/// the front, and a negative shift goes the other way: y[(i + shift) mod n] = x[i]. Gradient: g
/// rolled back.
Tensor roll(const Tensor& x, std::int64_t shift, int axis);
/// One shift for each of these axes (ValueError).
Tensor roll(const Tensor& x, const std::vector<std::int64_t>& shifts, const std::vector<int>& axes);

/// x laid out counts[i] times along axis i. Where there are more counts than axes, x gets leading
/// ones of size 1; there may not be fewer (ShapeError; see tile). Throws ValueError for a negative
/// count. Gradient: g summed over the repetitions.
Tensor repeat(const Tensor& x, const std::vector<std::int64_t>& counts);

/// As repeat, with fewer counts being those of the last axes (NumPy's tile).
Tensor tile(const Tensor& x, const std::vector<std::int64_t>& counts);

/// Each element along `axis` `count` times in a row: [a, b] -> [a, a, b, b]. Throws ValueError for
/// a negative count. Gradient: g summed over the repetitions.
Tensor repeat_interleave(const Tensor& x, std::int64_t count, int axis);
/// Element i counts[i] times (i64, one for each along the axis, ShapeError). Gradient: g added to
/// the element it was of.
Tensor repeat_interleave(const Tensor& x, const Tensor& counts, int axis);

/// x with axis `from` where `to` says, the others in their order.
Tensor movedim(const Tensor& x, int from, int to);

/// transpose under NumPy's name.
Tensor swapaxes(const Tensor& x, int axis0, int axis1);

/// The coordinates of a grid from those along its axes, vectors of sizes n0, n1, ...: one tensor
/// [n0, n1, ...] for each, which varies along its own axis alone; views. "xy" instead of "ij"
/// exchanges the first two axes, as pictures have them: [n1, n0, ...]. Throws ShapeError for what
/// is no vector, ValueError for another indexing or no tensors. Gradient: g summed over the other
/// axes.
Tensors meshgrid(const Tensors& coordinates, std::string_view indexing = "ij");

}  // namespace tapestry
