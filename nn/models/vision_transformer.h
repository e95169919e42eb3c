// A Transformer for images: cut into patches, an image is a sequence like any other.
#pragma once

#include <tapestry/nn/layers/embedding.h>
#include <tapestry/nn/models/vision_transformer_config.h>
#include <tapestry/nn/transformer/blocks.h>

namespace tapestry {

/// images [B, channels, H, W] -> [B, N, channels P P], N = (H / P) (W / P): patch by patch, row by
/// row, and within a patch channel by channel. Views and one copy; differentiable. Throws
/// ShapeError for another rank or patches that do not divide the image, ValueError for patch < 1.
Tensor image_patches(const Tensor& images, std::int64_t patch);

/// images [B, channels, H, W] -> logits [B, classes]:
///     x = [class token; patches W + b] + positions, [B, 1 + N, C],
///     logits = head(norm(encoder(x))_0), where the encoder has the norm first and exact gelu.
/// Matrices are initially Glorot uniform, positions normal with deviation 0.02, biases and the
/// class token 0. Source: Dosovitskiy et al. 2020, "An Image is Worth 16x16 Words".
class VisionTransformer : public Module {
public:
    Linear patch_embedding;                 ///< [C, channels P P]
    Tensor class_token;                     ///< [C]
    PositionalEncoding position_embedding;  ///< [1 + N, C]
    Dropout embedding_dropout;              ///< after the positions are added, in training
    Encoder encoder;                        ///< layers of blocks, norm first
    Linear head;                            ///< [classes, C]

    /// Throws ValueError for sizes that are not positive, a patch that does not divide the image,
    /// heads that do not divide dim.
    explicit VisionTransformer(const VisionTransformerConfig& config,
                               Generator& generator = default_generator());

    /// Throws ShapeError for images of another shape or an empty batch. `records`, one per layer,
    /// contain at [b, h, 0, 1 + n] the class token's weight on patch n.
    Tensor operator()(const Tensor& images, std::vector<AttentionRecord>* records = nullptr) const;

    /// Mean cross-entropy; labels i64 [B].
    Tensor loss(const Tensor& images, const Tensor& labels) const;

    const VisionTransformerConfig& config() const { return config_; }  ///< as given
    /// Sets the compute type of later calls.
    void compute_in(ComputeType type) { config_.compute = type; }
    std::string settings() const override;

private:
    void initialise(Generator& generator);

    VisionTransformerConfig config_;
};

}  // namespace tapestry
