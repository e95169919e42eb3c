#include <tapestry/nn/models/vision_transformer.h>

#include <tapestry/core/create.h>
#include <tapestry/nn/attention/named_forms.h>
#include <tapestry/ops/cast.h>
#include <tapestry/ops/join.h>
#include <tapestry/ops/loss.h>
#include <tapestry/ops/view.h>

#include <cmath>

namespace tapestry {
namespace {

const VisionTransformerConfig& checked(const VisionTransformerConfig& c) {
    static constexpr std::int64_t kMost = 1 << 20;  // keeps products of three sizes within 64 bits
    const auto positive = [](const char* what, std::int64_t value) {
        require(value > 0, "VisionTransformer: {} must be positive, got {}", what, value);
        require(value <= kMost, "VisionTransformer: {0} must be at most {2}, got {1}", what, value,
                kMost);
    };
    positive("height", c.height);
    positive("width", c.width);
    positive("patch", c.patch);
    positive("channels", c.channels);
    positive("classes", c.classes);
    positive("dim", c.dim);
    positive("heads", c.heads);
    positive("layers", c.layers);
    require(c.height % c.patch == 0 && c.width % c.patch == 0,
            "VisionTransformer: patches of {} x {} do not divide images of {} x {}", c.patch,
            c.patch, c.height, c.width);
    require(c.dim % c.heads == 0, "VisionTransformer: {} heads do not divide dim {} (remainder {})",
            c.heads, c.dim, c.dim % c.heads);
    return c;
}

std::int64_t patches(const VisionTransformerConfig& c) {
    return (c.height / c.patch) * (c.width / c.patch);
}

EncoderConfig encoder_config(const VisionTransformerConfig& c, Generator& generator) {
    const AttentionFormUse use{.model = "VisionTransformer",
                               .head_dim = c.dim / c.heads,
                               .length = 1 + patches(c),
                               .dropout = c.dropout,
                               .compute = computed_type(c)};
    return {.layers = c.layers,
            .layer = {.dim = c.dim,
                      .heads = c.heads,
                      .hidden = c.hidden,
                      .dropout = c.dropout,
                      .head_dropout = c.head_dropout,
                      .activation = Activation::gelu_erf,
                      .norm_first = true,
                      .norm_eps = c.norm_eps,
                      .form = attention_form(c.form, use, generator)},
            .final_norm = true};
}

}  // namespace

Tensor image_patches(const Tensor& images, std::int64_t patch) {
    require(patch >= 1, "image_patches: patch must be positive, got {}", patch);
    require<ShapeError>(images.defined() && images.rank() == 4,
                        "image_patches: needs images [B, channels, H, W], got {}", images.shape());
    const std::int64_t batch = images.size(0), channels = images.size(1);
    const std::int64_t rows = images.size(2) / patch, columns = images.size(3) / patch;
    require<ShapeError>(rows * patch == images.size(2) && columns * patch == images.size(3),
                        "image_patches: patches of {} x {} do not divide images of {} x {}", patch,
                        patch, images.size(2), images.size(3));
    const Tensor cut = reshape(images, {batch, channels, rows, patch, columns, patch});
    return reshape(permute(cut, {0, 2, 4, 1, 3, 5}),  // [B, rows, columns, channels, P, P]
                   {batch, rows * columns, channels * patch * patch});
}

VisionTransformer::VisionTransformer(const VisionTransformerConfig& config, Generator& generator)
    : Module("VisionTransformer"),
      patch_embedding(checked(config).channels * config.patch * config.patch, config.dim, true,
                      generator),
      class_token(zeros({config.dim})),
      position_embedding(Positions::learned, 1 + patches(config), config.dim, generator),
      embedding_dropout(config.dropout, generator),
      encoder(encoder_config(config, generator), generator),
      head(config.dim, config.classes, true, generator),
      config_(config) {
    register_module("patch_embedding", patch_embedding);
    register_parameter("class_token", class_token);
    register_module("position_embedding", position_embedding);
    register_module("embedding_dropout", embedding_dropout);
    register_module("encoder", encoder);
    register_module("head", head);
    initialise(generator);
    convert_weights(*this, config_);
}

void VisionTransformer::initialise(Generator& generator) {
    for (auto& [name, parameter] : named_parameters()) {
        if (name.ends_with(".bias")) parameter.fill_(0);
        // The norms' weights, of rank 1, stay 1; a form of attention has initialised its own.
        if (parameter.rank() != 2 || name.find(".form.") != name.npos) continue;
        const auto sizes = static_cast<double>(parameter.size(0) + parameter.size(1));
        const double bound = std::sqrt(6 / sizes);  // Glorot and Bengio 2010
        const bool positions = name == "position_embedding.weight";
        parameter.copy_(positions ? normal(parameter.shape(), 0, 0.02, generator)
                                  : uniform(parameter.shape(), -bound, bound, generator));
    }
}

Tensor VisionTransformer::operator()(const Tensor& images,
                                     std::vector<AttentionRecord>* records) const {
    const ModuleScope scope(name());
    const VisionTransformerConfig& c = config_;
    require<ShapeError>(images.defined() && images.rank() == 4 && images.size(1) == c.channels &&
                            images.size(2) == c.height && images.size(3) == c.width,
                        "VisionTransformer: needs images [B, {}, {}, {}], got {}", c.channels,
                        c.height, c.width, images.shape());
    const std::int64_t batch = images.size(0);
    require<ShapeError>(batch > 0, "VisionTransformer: images {} are an empty batch",
                        images.shape());
    const Tensor words = patch_embedding(image_patches(images, c.patch));  // [B, N, C]
    const Tensor first = expand(class_token, {batch, 1, c.dim});           // [B, 1, C]
    Tensor x = position_embedding(concat({first, words}, 1));              // [B, 1 + N, C]
    if (c.compute != ComputeType::f32) x = tapestry::to(x, dtype_of(c.compute));
    const Tensor y = encoder(embedding_dropout(x), {.records = records});  // [B, 1 + N, C]
    return hooked(head(squeeze(slice(y, 1, 0, 1), 1)), images);            // [B, classes]
}

Tensor VisionTransformer::loss(const Tensor& images, const Tensor& labels) const {
    return cross_entropy((*this)(images), labels);
}

std::string VisionTransformer::settings() const {
    return fmt::format("{} x {} in patches of {}, {} layers", config_.height, config_.width,
                       config_.patch, config_.layers);
}

}  // namespace tapestry
