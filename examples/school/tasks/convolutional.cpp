#include <tapestry/examples/school/tasks/convolutional.h>

#include <fmt/ranges.h>

namespace tapestry::examples {
namespace {

// Numbers that the last stage leaves of an image.
std::int64_t features(const ConvolutionalConfig& c) {
    const auto halvings = static_cast<int>(c.channels.size()) - 1;
    return c.channels.back() * (c.height >> halvings) * (c.width >> halvings);
}

}  // namespace

ConvolutionalNetwork::ConvolutionalNetwork(const ConvolutionalConfig& config, Generator& generator)
    : Module("ConvolutionalNetwork"),
      head(features(config), config.classes, true, generator),
      config_(config) {
    std::int64_t before = 1;
    for (const std::int64_t channels : config.channels) {
        stages.add<Conv2d>(before, channels, 3, Conv2dOptions{.padding = 1}, generator);
        stages.add<BatchNorm2d>(channels);
        stages.add<ReLU>();
        if (before > 1) stages.add<MaxPool2d>(2);
        before = channels;
    }
    stages.add<Flatten>();
    register_module("stages", stages);
    register_module("head", head);
}

Tensor ConvolutionalNetwork::operator()(const Tensor& images) const {
    const ModuleScope scope(name());
    return hooked(head(stages(images)), images);
}

Tensor ConvolutionalNetwork::loss(const Tensor& images, const Tensor& labels) const {
    return cross_entropy((*this)(images), labels);
}

std::string ConvolutionalNetwork::settings() const {
    return fmt::format("{} x {}, channels {}", config_.height, config_.width,
                       fmt::join(config_.channels, ", "));
}

}  // namespace tapestry::examples
