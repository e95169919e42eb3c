// Shapes: a Vision Transformer, or a convolutional network, tells circles, rings, squares,
// triangles and crosses apart, drawn small in an image of 16 x 16 pixels: anywhere, in any size,
// turned a little, under noise. What it learns from is endless, and what it is tested on was never
// seen. Read next: shapes_csv.h, which reads handwritten digits instead.
#pragma once

#include <tapestry/examples/school/tasks/task.h>
#include <tapestry/tapestry.h>

#include <span>

namespace tapestry::examples {

// ---- a convolutional network, what saw images before Transformers did ---------------------------

struct ConvolutionalConfig {
    std::int64_t height = 0;
    std::int64_t width = 0;
    std::int64_t classes = 0;
    std::vector<std::int64_t> channels = {16, 32, 64};  ///< of each stage
};

/// images [B, 1, H, W] -> logits [B, classes]. Each stage is a convolution of 3 x 3, batch norm and
/// relu; each but the first then halves height and width, by the maximum. Its idea is LeCun et al.
/// 1989, its pieces are of Ioffe and Szegedy 2015.
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
