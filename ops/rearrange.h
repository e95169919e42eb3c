// Reordering and repeating elements.
//
// Any dtype. Compositions of views and joins (view.h, join.h), with their gradients.
#pragma once

#include <tapestry/autograd/tape.h>

#include <string_view>
#include <vector>

namespace tapestry {

/// x reversed along these axes; a view. Throws ShapeError for an axis named twice. Gradient: g
/// flipped along the same axes.
Tensor flip(const Tensor& x, const std::vector<int>& axes);

/// x shifted cyclically along `axis` by `shift`, which may be negative:
/// y[(i + shift) mod n] = x[i]. Gradient: g rolled back.
Tensor roll(const Tensor& x, std::int64_t shift, int axis);
/// The same with one shift per axis. Throws ValueError if their numbers differ.
Tensor roll(const Tensor& x, const std::vector<std::int64_t>& shifts, const std::vector<int>& axes);

/// x repeated counts[i] times along axis i. If there are more counts than axes, x gets leading axes
/// of size 1; there must not be fewer (ShapeError; see tile). Throws ValueError for a negative
/// count. Gradient: g summed over the repetitions.
Tensor repeat(const Tensor& x, const std::vector<std::int64_t>& counts);

/// As repeat, but fewer counts apply to the last axes (NumPy's tile).
Tensor tile(const Tensor& x, const std::vector<std::int64_t>& counts);

/// Each element along `axis` `count` times in a row: [a, b] -> [a, a, b, b]. Throws ValueError for
/// a negative count. Gradient: g summed over the repetitions.
Tensor repeat_interleave(const Tensor& x, std::int64_t count, int axis);
/// The same with element i repeated counts[i] times (i64, one per element along the axis;
/// ShapeError otherwise). Gradient: g summed over the repetitions.
Tensor repeat_interleave(const Tensor& x, const Tensor& counts, int axis);

/// x with axis `from` moved to position `to`, the others in their order.
Tensor movedim(const Tensor& x, int from, int to);

/// transpose under NumPy's name.
Tensor swapaxes(const Tensor& x, int axis0, int axis1);

/// Grid coordinates from vectors of sizes n0, n1, ...: for each vector a tensor [n0, n1, ...] that
/// varies only along its own axis; views. "xy" instead of "ij" exchanges the first two axes, as for
/// images: [n1, n0, ...]. Throws ShapeError unless all are vectors, ValueError for another indexing
/// or no tensors. Gradient: g summed over the other axes.
Tensors meshgrid(const Tensors& coordinates, std::string_view indexing = "ij");

// ---- pixels -------------------------------------------------------------------------------------

/// Images [N, C r^2, H, W] with r times as many rows and columns and r^2 times fewer channels,
/// [N, C, H r, W r]: y[n, c, h r + i, w r + j] = x[n, c r^2 + i r + j, h, w]. Gradient: g, moved
/// back. Throws ShapeError for another rank or number of channels, ValueError unless r >= 1.
/// Source: Shi et al. 2016, "Real-Time Single Image and Video Super-Resolution Using an Efficient
/// Sub-Pixel Convolutional Neural Network".
Tensor pixel_shuffle(const Tensor& x, std::int64_t r);

/// The inverse of pixel_shuffle: [N, C, H r, W r] to [N, C r^2, H, W].
Tensor pixel_unshuffle(const Tensor& x, std::int64_t r);

}  // namespace tapestry
