// Pooling and interpolation of images. Pooling reduces each window of an image to one number;
// global pooling is a reduction, mean(x, {2, 3}) or max(x, {2, 3}). Interpolation resizes an image.
//
// Floating-point (DTypeError); images are [N, C, H, W], sequences [N, C, L]. Throws ShapeError for
// another rank and if no window fits into the image; ValueError for a kernel or stride that is not
// positive, and for a padding that is negative or more than half the kernel, which could put a
// window entirely outside the image. Read next: pooling.cpp.
#pragma once

#include <tapestry/core/size_2d.h>
#include <tapestry/core/tensor.h>

namespace tapestry {

/// Options of max_pool1d() and avg_pool1d(), in elements.
struct Pool1dOptions {
    std::int64_t stride = 0;   ///< from one window to the next; 0: the kernel's length
    std::int64_t padding = 0;  ///< on either side, at most half the kernel
    /// One more window where the last ones would leave elements out, reaching beyond the padding.
    bool ceil_mode = false;
};

/// Options of max_pool2d() and avg_pool2d(), in pixels.
struct Pool2dOptions {
    Size2d stride = 0;       ///< 0: the kernel's size
    Size2d padding = 0;      ///< on all four sides, at most half the kernel
    bool ceil_mode = false;  ///< as in Pool1dOptions, along both axes
};

/// y[n, c, p, q] = the largest x[n, c, i, j] of window (p, q), whose rows begin at p
/// stride - padding and whose columns begin likewise; positions outside the image are ignored. The
/// first of equals, row by row, is chosen; NaN counts as the largest. Gradient: g to the chosen
/// pixel, summed where windows overlap.
Tensor max_pool2d(const Tensor& x, const Size2d& kernel, const Pool2dOptions& options = {});

/// The same along one axis.
Tensor max_pool1d(const Tensor& x, std::int64_t kernel, const Pool1dOptions& options = {});

/// y[n, c, p, q] = the mean of window (p, q), as above. Padding counts as zeros (PyTorch's
/// count_include_pad) unless count_padding is false; then the mean is over the pixels inside the
/// image. What reaches beyond the padding, with ceil_mode, never counts. Gradient: g divided
/// equally, by the same divisor, among the pixels inside.
Tensor avg_pool2d(const Tensor& x, const Size2d& kernel, const Pool2dOptions& options = {},
                  bool count_padding = true);

/// The same along one axis.
Tensor avg_pool1d(const Tensor& x, std::int64_t kernel, const Pool1dOptions& options = {},
                  bool count_padding = true);

/// Means of windows whose number is given: [N, C, H, W] to [N, C, P, Q] with `size` P x Q. Window
/// (p, q) has rows floor(p H / P) to ceil((p + 1) H / P) - 1 and columns likewise, so neighbours
/// may share some. Unless the sizes divide H and W, an inf or NaN spoils all windows of its row and
/// column. Gradient: g divided equally among the window's pixels. Throws ShapeError for
/// another rank, an image without pixels, or a size that is not positive.
Tensor adaptive_avg_pool2d(const Tensor& x, const Size2d& size);

// ---- interpolation ------------------------------------------------------------------------------

/// How interpolate() finds a pixel's value.
enum class Interpolation {
    nearest,  ///< the pixel that it lies in
    bilinear  ///< weighted mean of the four around it
};

/// Resizes images x [N, C, H, W] to [N, C, P, Q] with `size` P x Q. Row p of the result is at
/// s = (p + 1/2) H / P - 1/2 of the image: nearest takes row floor(p H / P), bilinear interpolates
/// linearly between the two rows around s, at the edge only the outermost; likewise columns.
/// With align_corners, for bilinear only (ValueError), the corners of both are the same points: s =
/// p (H - 1) / (P - 1), and 0 if P is 1. (As PyTorch's interpolate; like PyTorch, bilinear does not
/// average when shrinking.) Floating-point (DTypeError). Gradient: g to the pixels that were read,
/// with the same weights. Throws ShapeError for another rank, an image without pixels, or a size
/// that is not positive.
Tensor interpolate(const Tensor& x, const Size2d& size,
                   Interpolation method = Interpolation::nearest, bool align_corners = false);

}  // namespace tapestry
