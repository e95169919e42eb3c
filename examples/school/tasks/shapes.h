// Shapes: a Vision Transformer, or a convolutional network, tells circles, rings, squares,
// triangles and crosses apart, drawn small in an image of 16 x 16 pixels: anywhere, in any size,
// turned a little, under noise. What it learns from is endless, and what it is tested on was never
// seen. Read next: shapes_csv.h, which reads handwritten digits instead.
#pragma once

#include <tapestry/examples/school/tasks/convolutional.h>
#include <tapestry/examples/school/tasks/task_page.h>

#include <span>

namespace tapestry::examples {

struct LabelledImages {
    Tensor images;  ///< [B, 1, H, W]
    Tensor labels;  ///< i64 [B]
};

/// Images to learn from, `count` of them.
using DrawImages = std::function<LabelledImages(std::int64_t count, Generator& generator)>;

// ---- drawing ------------------------------------------------------------------------------------

constexpr std::int64_t kImageSize = 16;
constexpr std::string_view kShapeNames[] = {"circle", "ring", "square", "triangle", "cross"};
constexpr std::int64_t kShapes = 5;

/// Is the point (u, v) inside the shape, whose centre is (0, 0) and whose radius is about 1?
bool inside_shape(std::int64_t shape, double u, double v);

LabelledImages draw_shapes(std::int64_t count, Generator& generator);

/// Two characters for each pixel of an image [1, H, W].
std::string picture(const Tensor& image);

// ---- learning -----------------------------------------------------------------------------------

enum class ImageModel { transformer, convolutional };

/// What the model is told of images and classes is in `config`; the rest of it is for the Vision
/// Transformer alone. `names` of the classes; without them their numbers serve.
Score learn_images(ImageModel model, const VisionTransformerConfig& config, const DrawImages& draw,
                   const LabelledImages& test, const TaskOptions& options,
                   std::span<const std::string_view> names = {});

inline const TaskOptions kShapesOptions{.steps = 2000, .batch = 64, .rate = 2e-3};

Score learn_shapes(const TaskOptions& options, ImageModel model = ImageModel::transformer);

}  // namespace tapestry::examples
