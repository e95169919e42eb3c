// A small convolutional network, what saw images before Transformers did: for shapes.h and
// shapes_csv.h, beside the Vision Transformer.
#pragma once

#include <tapestry/tapestry.h>

namespace tapestry::examples {

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

}  // namespace tapestry::examples
