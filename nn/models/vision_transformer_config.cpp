#include <tapestry/nn/models/vision_transformer_config.h>

#include <tapestry/nn/attention/named_forms.h>

#include <algorithm>

namespace tapestry {
namespace {

// A configuration's sizes as floating-point numbers: their products may not fit into 64 bits.
struct ImageModelSizes {
    double dim, head_dim, layers, hidden, pixels, tokens, classes;

    explicit ImageModelSizes(const VisionTransformerConfig& c)
        : dim(static_cast<double>(c.dim)),
          head_dim(dim / std::max(1.0, static_cast<double>(c.heads))),  // a file may say 0
          layers(static_cast<double>(c.layers)),
          hidden(c.hidden == 0 ? 4 * dim : static_cast<double>(c.hidden)),
          classes(static_cast<double>(c.classes)) {
        const auto side = static_cast<double>(std::max<std::int64_t>(c.patch, 1));  // or a file's 0
        pixels = static_cast<double>(c.channels) * side * side;
        tokens = 1 + static_cast<double>(c.height) / side * static_cast<double>(c.width) / side;
    }

    double products() const { return 4 * dim * dim + 2 * dim * hidden; }  // weights of a block
};

}  // namespace

double parameter_count(const VisionTransformerConfig& config) {
    const ImageModelSizes s(config);
    const double norm = 2 * s.dim;
    const double form = attention_form_numbers(config.form, s.tokens, s.head_dim);
    const double block = s.products() + 4 * s.dim + s.hidden + s.dim + 2 * norm + form;
    return (s.pixels + 1) * s.dim + s.dim + s.tokens * s.dim + s.layers * block + norm +
           (s.dim + 1) * s.classes;
}

double training_bytes(const VisionTransformerConfig& config, std::int64_t batch,
                      std::int64_t gradient_sets, std::int64_t moments) {
    const ImageModelSizes s(config);
    const double tokens = static_cast<double>(batch) * s.tokens;
    // Per block and token, the tape keeps: the inputs of norms, q k v, the heads, the hidden layer
    // before and after its activation, the residual stream.
    const double kept = tokens * (s.layers * (9 * s.dim + 2 * s.hidden) + s.pixels + 3 * s.dim);
    const auto numbers = static_cast<double>(size_of(dtype_of(config.weights)));
    const auto computed = static_cast<double>(
        size_of(dtype_of(config.weights == ComputeType::f32 ? config.compute : config.weights)));
    const double gradients = gradient_sets > 1 ? 4 * static_cast<double>(gradient_sets) : numbers;
    return (static_cast<double>(1 + moments) * numbers + gradients) * parameter_count(config) +
           computed * kept;
}

double step_flops(const VisionTransformerConfig& config, std::int64_t batch) {
    const ImageModelSizes s(config);
    const double weights = s.tokens * (s.layers * s.products() + s.pixels * s.dim);
    const double attention = 2 * s.layers * s.dim * s.tokens * s.tokens;
    return 3 * 2 * (weights + attention + s.dim * s.classes) * static_cast<double>(batch);
}

std::int64_t default_patch(std::int64_t height, std::int64_t width) {
    constexpr std::int64_t kLargest = 16, kFewest = 16;
    for (std::int64_t patch = kLargest; patch > 1; --patch) {
        const bool divides = height % patch == 0 && width % patch == 0;
        if (divides && (height / patch) * (width / patch) >= kFewest) return patch;
    }
    return 1;
}

}  // namespace tapestry
