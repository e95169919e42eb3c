// The configuration of a Transformer for images, and its cost. The list of fields below is the only
// source for config.json, the command line, error messages and docs/modules.md. Read next:
// vision_transformer.h, the model.
#pragma once

#include <tapestry/nn/models/model_types.h>

#include <cstdint>
#include <string>

namespace tapestry {

/// The configuration of a VisionTransformer. FieldsOf<VisionTransformerConfig> has meaning and
/// bounds of every field.
struct VisionTransformerConfig {
    std::int64_t height = 0;      ///< H, of the images, in pixels
    std::int64_t width = 0;       ///< W, of the images, in pixels
    std::int64_t patch = 0;       ///< a patch is patch x patch pixels; must divide height and width
    std::int64_t channels = 1;    ///< of the images
    std::int64_t classes = 0;     ///< number of classes
    std::int64_t image_size = 0;  ///< if not 0, image files are scaled to squares of this side
    std::int64_t dim = 64;        ///< C, width of the model
    std::int64_t heads = 4;       ///< of attention; divides dim
    std::int64_t layers = 4;      ///< number of blocks
    std::int64_t hidden = 0;      ///< of the feed-forward networks; 4 dim if 0
    /// Probability, in training: on embeddings, attention weights and residual branches.
    double dropout = 0;
    std::string form = "softmax";            ///< of attention (nn/attention/named_forms.h)
    double head_dropout = 0;                 ///< probability, in training: on whole heads
    double norm_eps = 1e-6;                  ///< epsilon of all norms
    ComputeType compute = ComputeType::f32;  ///< type of activations and matrix products
    /// Type of the parameters, and so of gradients and moments; with bf16 the model computes in
    /// bf16.
    ComputeType weights = ComputeType::f32;

    // Its cost, for nn/models/model_registry.h.

    /// Total number of parameters; a double, because a configuration from a file may be absurd.
    friend double parameter_count(const VisionTransformerConfig& config);
    /// Estimated peak memory of training; the arguments are those of gpt_config.h.
    friend double training_bytes(const VisionTransformerConfig& config, std::int64_t batch,
                                 std::int64_t gradient_sets, std::int64_t moments);
    /// Floating-point operations of the matrix products of a step.
    friend double step_flops(const VisionTransformerConfig& config, std::int64_t batch);
};

template <>
struct FieldsOf<VisionTransformerConfig> {
    using C = VisionTransformerConfig;
    using Enums = Types<ComputeType>;
    template <class Visitor>
    static constexpr void list(const Visitor& field) {
        field("height", &C::height, "Height of the images in pixels", {.low = 1, .required = true});
        field("width", &C::width, "Width of the images in pixels", {.low = 1, .required = true});
        field("patch", &C::patch,
              "Side of a patch in pixels, which divides the images' height and width; 0: the "
              "largest up to 16 that leaves at least 16 patches",
              {.low = 0, .required = true});
        field("channels", &C::channels, "Channels of the images: 1, or 3 for colours",
              {.low = 1, .required = true});
        field("classes", &C::classes, "Number of classes", {.low = 1, .required = true});
        field("image_size", &C::image_size,
              "Scale image files of any size to N x N pixels: their central square; 0: all must "
              "have one size",
              {.low = 0, .high = 4096, .optional = true});
        field("dim", &C::dim, "Width of the model; a multiple of the heads",
              {.low = 1, .required = true});
        field("heads", &C::heads, "Attention heads per block", {.low = 1, .required = true});
        field("layers", &C::layers, "Transformer blocks", {.low = 1, .required = true});
        field("hidden", &C::hidden, "Width of the feed-forward networks; 0: 4 dim",
              {.low = 0, .required = true});
        field("dropout", &C::dropout, "Dropout probability",
              {.low = 0, .high = 0.99, .required = true});
        field("form", &C::form,
              "Form of attention: softmax, window:W, strided:S, linear, performer:M, linformer:K",
              {.optional = true, .option = "--attention"});
        field("head_dropout", &C::head_dropout, "Dropout probability of whole attention heads",
              {.low = 0, .high = 0.99, .optional = true});
        field("norm_eps", &C::norm_eps, "Epsilon that norms add to the variance", {.low = 0});
        list_types<C>(field);
    }
};

/// The default side of the patches: the largest number up to 16 that divides both sides and leaves
/// at least 16 patches; 1 if there is none.
std::int64_t default_patch(std::int64_t height, std::int64_t width);

}  // namespace tapestry
