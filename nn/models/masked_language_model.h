// BERT's architecture: an encoder that reads a text in both directions and is trained to predict
// masked tokens. nn/data/mask_tokens.h masks them.
#pragma once

#include <tapestry/nn/layers/embedding.h>
#include <tapestry/nn/models/masked_language_model_config.h>
#include <tapestry/nn/transformer/blocks.h>

namespace tapestry {

/// Optional inputs.
struct MaskedLanguageModelInputs {
    Tensor types = {};  ///< i64 [B, T], each in [0, types); all 0 if undefined
    std::vector<AttentionRecord>* records = nullptr;  ///< one per layer
};

/// ids [B, T] -> logits [B, T, V] for the token at every position:
///     x = norm(token + position + type),  h = encoder(x), norm last, with exact gelu,
///     logits = norm(gelu(h W + b)) E^T + c, where E is the token embedding's table.
/// With `classes`, the first token, [CLS], represents the sequence:
///     logits = tanh(h_0 W_p + b_p) W_c + b_c.
/// Matrices and tables are initially normal, biases 0.
/// Source: Devlin et al. 2018, "BERT: Pre-training of Deep Bidirectional Transformers".
class MaskedLanguageModel : public Module {
public:
    Embedding token_embedding;                ///< [V, C]
    PositionalEncoding position_embedding;    ///< [max_length, C]
    std::optional<Embedding> type_embedding;  ///< [types, C]
    LayerNorm embedding_norm;                 ///< over the sum of the embeddings
    Dropout embedding_dropout;                ///< after that norm, in training
    Encoder encoder;                          ///< layers of blocks, norm last
    Linear transform;                         ///< [C, C]
    LayerNorm transform_norm;                 ///< after `transform` and its gelu
    Linear head;                              ///< [V, C], the token embedding's weight, and a bias
    std::optional<Linear> pooler,             ///< W_p [C, C]; with classes
        classifier;                           ///< W_c [classes, C]; with classes

    /// Throws ValueError for sizes that are not positive (`types` and `classes` may be 0) or heads
    /// that do not divide dim.
    explicit MaskedLanguageModel(const MaskedLanguageModelConfig& config,
                                 Generator& generator = default_generator());

    /// ids i64 [B, T], T <= max_length -> [B, T, C]. Throws ShapeError for other shapes and for
    /// types whose shape differs from that of ids, IndexError for ids outside the vocabulary,
    /// ValueError for types given to a model without a type table.
    Tensor encode(const Tensor& ids, const MaskedLanguageModelInputs& inputs = {}) const;

    /// ids [B, T] -> logits [B, T, V]. Throws as encode() does.
    Tensor operator()(const Tensor& ids, const MaskedLanguageModelInputs& inputs = {}) const;

    /// ids [B, T] -> logits [B, classes]. Throws ValueError for a model without classes.
    Tensor classify(const Tensor& ids, const MaskedLanguageModelInputs& inputs = {}) const;

    /// Mean cross-entropy over the positions whose target, i64 [B, T], is not -100: those chosen by
    /// mask_tokens. Throws ValueError if there are none.
    Tensor loss(const Tensor& ids, const Tensor& targets,
                const MaskedLanguageModelInputs& inputs = {}) const;

    const MaskedLanguageModelConfig& config() const { return config_; }  ///< as given
    /// Sets the compute type of later calls.
    void compute_in(ComputeType type) { config_.compute = type; }
    std::string settings() const override;

private:
    void initialise(Generator& generator);

    MaskedLanguageModelConfig config_;
};

}  // namespace tapestry
