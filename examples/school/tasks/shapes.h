// Shapes: a Vision Transformer or a convolutional network classifies circles, rings, squares,
// triangles and crosses in noisy images of 16 x 16 pixels, at any position and size and slightly
// rotated. Training images are generated endlessly, and the test images are never trained on. Read
// next: shapes_csv.h, which reads handwritten digits instead.
#pragma once

#include <tapestry/examples/school/tasks/task.h>
#include <tapestry/tapestry.h>

#include <span>

namespace tapestry::examples {

// ---- a convolutional network, the standard image model before Transformers ---------------------

struct ConvolutionalConfig {
    std::int64_t height = 0;
    std::int64_t width = 0;
    std::int64_t classes = 0;
    std::vector<std::int64_t> channels = {16, 32, 64};  ///< per stage
};

/// images [B, 1, H, W] -> logits [B, classes]. Each stage is a 3 x 3 convolution, batch norm and
/// ReLU; every stage but the first then halves height and width by max pooling. After LeCun et al.
/// 1989, with batch norm from Ioffe and Szegedy 2015.
class ConvolutionalNetwork : public Module {
public:
    Sequential stages;  // [B, 1, H, W] -> [B, C, H', W']
    Linear head;        // C H' W' -> classes

    ConvolutionalNetwork(const ConvolutionalConfig& config, Generator& generator);

    Tensor operator()(const Tensor& images) const;
    Tensor loss(const Tensor& images, const Tensor& labels) const;
    std::string settings() const override;

private:
    ConvolutionalConfig config_;
};

// ---- images -------------------------------------------------------------------------------------

struct LabelledImages {
    Tensor images;  ///< [B, 1, H, W]
    Tensor labels;  ///< i64 [B]
};

/// Draws `count` training images.
using DrawImages = std::function<LabelledImages(std::int64_t count, Generator& generator)>;

// ---- drawing ------------------------------------------------------------------------------------

constexpr std::int64_t kImageSize = 16;
constexpr std::string_view kShapeNames[] = {"circle", "ring", "square", "triangle", "cross"};
constexpr std::int64_t kShapes = 5;

/// Is the point (u, v) inside the shape, centred at (0, 0) with a radius of about 1?
bool inside_shape(std::int64_t shape, double u, double v);

LabelledImages draw_shapes(std::int64_t count, Generator& generator);

/// An image [1, H, W] as text, two characters per pixel.
std::string picture(const Tensor& image);

// ---- training ----------------------------------------------------------------------------------

enum class ImageModel { transformer, convolutional };

/// Both models take the image size and classes from `config`; the rest of it is for the Vision
/// Transformer only. `names`: the classes' names; their numbers if empty.
Score learn_images(ImageModel model, const VisionTransformerConfig& config, const DrawImages& draw,
                   const LabelledImages& test, const TaskOptions& options,
                   std::span<const std::string_view> names = {});

inline const TaskOptions kShapesOptions{.steps = 2000, .batch = 64, .rate = 2e-3};

Score learn_shapes(const TaskOptions& options, ImageModel model = ImageModel::transformer);

}  // namespace tapestry::examples
