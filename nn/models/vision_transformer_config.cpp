#include <tapestry/nn/models/vision_transformer_config.h>

#include <tapestry/nn/attention/named_forms.h>
#include <tapestry/nn/models/model_cost.h>

#include <algorithm>

namespace tapestry {
namespace {

struct ImageModelSizes : BlockSizes {
    double pixels, tokens, classes;

    explicit ImageModelSizes(const VisionTransformerConfig& c)
        : BlockSizes(c), classes(static_cast<double>(c.classes)) {
        const auto side = static_cast<double>(std::max<std::int64_t>(c.patch, 1));  // or a file's 0
        pixels = static_cast<double>(c.channels) * side * side;
        tokens = 1 + static_cast<double>(c.height) / side * static_cast<double>(c.width) / side;
    }
};

}  // namespace

double parameter_count(const VisionTransformerConfig& config) {
    const ImageModelSizes s(config);
    const double form = attention_form_numbers(config.form, s.tokens, s.dim / s.heads);
    return (s.pixels + 1) * s.dim + s.dim + s.tokens * s.dim + s.layers * (s.parameters() + form) +
           s.norm() + (s.dim + 1) * s.classes;
}

double training_bytes(const VisionTransformerConfig& config, std::int64_t batch,
                      std::int64_t gradient_sets, std::int64_t moments) {
    const ImageModelSizes s(config);
    const double tokens = static_cast<double>(batch) * s.tokens;
    return training_memory(config, tokens * (s.kept() + s.pixels + 3 * s.dim), gradient_sets,
                           moments);
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
