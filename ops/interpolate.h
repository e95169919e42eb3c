// Images of another size.
#pragma once

#include <tapestry/core/size_2d.h>
#include <tapestry/core/tensor.h>

namespace tapestry {

enum class Interpolation { nearest, bilinear };

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
