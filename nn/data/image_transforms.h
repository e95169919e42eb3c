// Images as tensors, and the transforms of a vision pipeline: sizes, crops, flips, normalisation.
// Random numbers come from the generator that is passed, so a seed repeats them.
//
//     const ImagesByClass pets = read_images_by_class("pets", {.side = 72});
//     Tensor x = image_tensor(pets.images);                          // [N, C, 72, 72] in [0, 1]
//     x = random_flip(random_crop(x, 64, 0, generator), 0.5, generator);
//     x = normalize_channels(x, {0.5, 0.5, 0.5}, {0.25, 0.25, 0.25});
//
// Read next: images.h, the files; data_loader.h, batches.
#pragma once

#include <tapestry/core/random.h>
#include <tapestry/core/size_2d.h>
#include <tapestry/core/tensor.h>
#include <tapestry/nn/data/images.h>

#include <cstdint>
#include <vector>

namespace tapestry {

/// The images as f32 [N, C, H, W]: pixels / 255. Throws ValueError if there are none.
Tensor image_tensor(const ImageSet& images);

/// x [..., H, W] -> [..., rows, columns]. Each pixel is a mean of x around its place, weighted by a
/// triangle as wide as the sizes' ratio (at least a pixel), which avoids aliasing: PIL's BILINEAR,
/// torchvision's antialias. Linear in x, and has its gradient. For interpolation without the mean
/// see interpolate() in ops/pooling.h. Throws DTypeError unless x is floating, and ShapeError for
/// fewer than two axes and for sizes that are not positive.
Tensor resize_images(const Tensor& x, const Size2d& size);

/// The middle of x [..., H, W]; where a margin is odd, its smaller half comes first. A view. Throws
/// ShapeError if the size is not in [1, H] and [1, W].
Tensor center_crop(const Tensor& x, const Size2d& size);

/// A random part of each image, x [N, C, H, W] -> [N, C, rows, columns], where `padding` zeros
/// surround each image. Two draws per image. No gradient. Throws ShapeError unless the size fits
/// into the padded images.
Tensor random_crop(const Tensor& x, const Size2d& size, std::int64_t padding = 0,
                   Generator& generator = default_generator());

/// Mirrors each image of x [N, C, H, W], left to right, with probability p. One draw per image. No
/// gradient. Throws ShapeError, and ValueError unless 0 <= p <= 1.
Tensor random_flip(const Tensor& x, double p = 0.5, Generator& generator = default_generator());

/// (x - mean) / deviation for each channel of x [..., C, H, W]. Throws ShapeError unless there are
/// C of both, and ValueError for a deviation that is not positive.
Tensor normalize_channels(const Tensor& x, const std::vector<double>& mean,
                          const std::vector<double>& deviation);

}  // namespace tapestry
