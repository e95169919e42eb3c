#include <tapestry/examples/school/tasks/shapes.h>

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace tapestry::examples {
namespace {

// Number of features that the last stage yields for an image.
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

// ---- shapes

namespace {

// Adds the shape to kImageSize^2 pixels; each pixel is the mean of 3 x 3 samples.
void draw_shape(std::int64_t shape, float* pixels, Generator& generator) {
    const auto between = [&](double low, double high) {
        return low + (high - low) * generator.uniform();
    };
    const double radius = between(3.5, 6), angle = between(-0.3, 0.3);
    const double x = between(radius, kImageSize - radius), y = between(radius, kImageSize - radius);
    const double brightness = between(0.6, 1);
    const double cosine = std::cos(angle) / radius, sine = std::sin(angle) / radius;
    for (std::int64_t i = 0; i < kImageSize * kImageSize * 9; ++i) {
        const std::int64_t point = i % 9, pixel = i / 9;
        const double dx = static_cast<double>(pixel % kImageSize) +
                          (static_cast<double>(point % 3) + 0.5) / 3 - x;
        const double dy = static_cast<double>(pixel / kImageSize) +
                          (static_cast<double>(point / 3) + 0.5) / 3 - y;
        if (inside_shape(shape, cosine * dx + sine * dy, cosine * dy - sine * dx)) {
            pixels[pixel] += static_cast<float>(brightness / 9);
        }
    }
}

template <class Model>
Score classify(const Model& model, const LabelledImages& test) {
    Score score{0, test.labels.size(0)};
    const Tensors images = split(test.images, 200, 0), labels = split(test.labels, 200, 0);
    for (std::size_t i = 0; i < images.size(); ++i) {
        const Tensor answers = argmax(model(images[i]), -1);
        score.right += sum(eq(answers, labels[i])).item<std::int64_t>();
    }
    return score;
}

// Names of a Vision Transformer's tokens: the class token, then its patches by row and column.
std::vector<std::string> patch_names(const VisionTransformerConfig& config) {
    std::vector<std::string> names{"[class]"};
    for (std::int64_t row = 0; row < config.height / config.patch; ++row) {
        for (std::int64_t column = 0; column < config.width / config.patch; ++column) {
            names.push_back(fmt::format("r{}c{}", row, column));
        }
    }
    return names;
}

// Trains and scores either model. `texts` and `patch` (side in pixels) are for the page.
template <class Model>
Score learn(Model& model, const DrawImages& draw, const LabelledImages& test,
            const TaskOptions& options, std::span<const std::string_view> names,
            const std::vector<PageText>& texts, std::int64_t patch, Generator& generator) {
    const LabelledImages some{slice(test.images, 0, 0, 200), slice(test.labels, 0, 0, 200)};
    fit(
        model, options,
        [&] {
            const LabelledImages b = draw(options.batch, generator);
            return model.loss(b.images, b.labels);
        },
        [&] { return classify(model, some); });
    const Tensor image = slice(test.images, 0, 0, 1), label = slice(test.labels, 0, 0, 1);
    const auto truth = label.item<std::int64_t>();
    const auto name_of = [names](std::int64_t id) {
        return names.empty() ? std::to_string(id)
                             : std::string(names[static_cast<std::size_t>(id)]);
    };
    write_page(options, model,
               {.what = "an image: " + name_of(truth),
                .texts = texts,
                .name_of = name_of,
                .loss = [&] { return model.loss(image, label); },
                .image = PageImage{.pixels = squeeze(image, 0), .patch = patch}});
    const Answering answering(model);
    return classify(model, test);
}

}  // namespace

bool inside_shape(std::int64_t shape, double u, double v) {
    const double squares = u * u + v * v;
    const double farther = std::max(std::abs(u), std::abs(v));
    const double nearer = std::min(std::abs(u), std::abs(v));
    switch (shape) {
        case 0: return squares <= 1;
        case 1: return squares <= 1 && squares >= 0.3;
        case 2: return farther <= 0.9;
        case 3: return v <= 0.8 && std::abs(u) <= (v + 1) / 1.8;
        default: return farther <= 1 && nearer <= 0.28;
    }
}

LabelledImages draw_shapes(std::int64_t count, Generator& generator) {
    const Tensor labels = randint(0, kShapes, {count}, generator);
    Tensor images = normal({count, 1, kImageSize, kImageSize}, 0, 0.15, generator);
    float* pixels = images.mutable_data<float>();
    for (const std::int64_t shape : labels.to_vector<std::int64_t>()) {
        draw_shape(shape, pixels, generator);
        pixels += kImageSize * kImageSize;
    }
    return {images, labels};
}

std::string picture(const Tensor& image) {
    constexpr std::string_view kShades = " .:-=+*#%@";
    std::string text;
    for (std::int64_t y = 0; y < image.size(1); ++y) {
        text += "  ";
        for (std::int64_t x = 0; x < image.size(2); ++x) {
            const double value = std::clamp(image.at({0, y, x}), 0.0, 0.99);
            text.append(2, kShades[static_cast<std::size_t>(value * 10)]);
        }
        text += '\n';
    }
    return text;
}

Score learn_images(ImageModel kind, const VisionTransformerConfig& config, const DrawImages& draw,
                   const LabelledImages& test, const TaskOptions& options,
                   std::span<const std::string_view> names) {
    Generator generator(options.seed);
    if (kind == ImageModel::convolutional) {
        const ConvolutionalConfig same{config.height, config.width, config.classes};
        ConvolutionalNetwork model(same, generator);
        return learn(model, draw, test, options, names, {}, 1, generator);
    }
    VisionTransformer model(config, generator);
    return learn(model, draw, test, options, names, {{.queries = patch_names(config)}},
                 config.patch, generator);
}

Score learn_shapes(const TaskOptions& options, ImageModel model) {
    Generator another(~options.seed);
    const LabelledImages test = draw_shapes(1000, another);
    if (options.print) {
        for (std::int64_t i = 0; i < 2; ++i) {
            const auto label = static_cast<std::size_t>(test.labels.at({i}));
            const Tensor image = squeeze(slice(test.images, 0, i, i + 1), 0);
            fmt::print("{}:\n{}\n", kShapeNames[label], picture(image));
        }
    }
    return learn_images(model,
                        {.height = kImageSize,
                         .width = kImageSize,
                         .patch = 4,
                         .classes = kShapes,
                         .dim = 64,
                         .heads = 4,
                         .layers = 3},
                        draw_shapes, test, options, kShapeNames);
}

}  // namespace tapestry::examples
