// Images made smaller or larger. Pooling: each window of an image becomes one number. Over all
// pixels it is a reduction: global average pooling is mean(x, {2, 3}), global max pooling
// max(x, {2, 3}). Interpolation: an image of any size from the pixels around each place.
//
// floating numbers (DTypeError); images [N, C, H, W], rows [N, C, L]. Throws ShapeError for another
// rank and where an image has room for no window; ValueError for a kernel or stride that is not
// positive, and a padding that is negative or more than half the kernel, with which a window could
// lie outside altogether. Read next: pooling.cpp.
#pragma once

#include <tapestry/core/size_2d.h>
#include <tapestry/core/tensor.h>

namespace tapestry {

/// Options of max_pool1d() and avg_pool1d(), in elements.
struct Pool1dOptions {
    std::int64_t stride = 0;   ///< from one window to the next; 0: the kernel's length
    std::int64_t padding = 0;  ///< on either side, at most half the kernel
};

/// Options of max_pool2d() and avg_pool2d(), in pixels.
struct Pool2dOptions {
    Size2d stride = 0;   ///< 0: the kernel's size
    Size2d padding = 0;  ///< on all four sides, at most half the kernel
};

/// y[n, c, p, q] = the largest x[n, c, i, j] of window (p, q): rows p stride - padding and as many
/// as the kernel has, likewise columns; places outside the image do not count. Of equals the first,
/// row by row, is taken; NaN counts as the largest. Gradient: g to the place that was taken, added
/// up where windows overlap.
Tensor max_pool2d(const Tensor& x, const Size2d& kernel, const Pool2dOptions& options = {});

/// The same along one axis.
Tensor max_pool1d(const Tensor& x, std::int64_t kernel, const Pool1dOptions& options = {});

/// y[n, c, p, q] = the mean of window (p, q), as above. Padding counts as zeros (PyTorch's
/// count_include_pad), unless count_padding is false: the mean is then that of the places inside
/// the image. Gradient: g in equal parts to the places inside.
Tensor avg_pool2d(const Tensor& x, const Size2d& kernel, const Pool2dOptions& options = {},
                  bool count_padding = true);

/// The same along one axis.
Tensor avg_pool1d(const Tensor& x, std::int64_t kernel, const Pool1dOptions& options = {},
                  bool count_padding = true);

// ---- images of another size ---------------------------------------------------------------------

/// How interpolate() finds a pixel's value.
enum class Interpolation {
    nearest,  ///< the pixel that it lies in
    bilinear  ///< weighted mean of the four around it
};

/// x [N, C, H, W] as images [N, C, P, Q] of `size` P x Q. Pixel p of the result stands at s =
/// (p + 1/2) H / P - 1/2 of the image: nearest takes row floor(p H / P), bilinear the two rows
/// around s in proportion to how near they are, at the edge the outermost alone; likewise columns.
/// (PyTorch's interpolate with align_corners false; like its, bilinear takes no mean where the
/// result is smaller.) floating numbers (DTypeError). Gradient: g to the pixels that were read, in
/// the same proportions. Throws ShapeError for another rank, an image without pixels, and a size
/// that is not positive.
Tensor interpolate(const Tensor& x, const Size2d& size,
                   Interpolation method = Interpolation::nearest);

}  // namespace tapestry
