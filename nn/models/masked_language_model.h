// BERT's architecture: an encoder that reads a text in both directions and is trained to predict
// masked tokens. nn/data/mask_tokens.h masks them.
#pragma once

#include <tapestry/nn/layers/embedding.h>
#include <tapestry/nn/transformer/blocks.h>

namespace tapestry {

/// The configuration of a MaskedLanguageModel.
struct MaskedLanguageModelConfig {
    std::int64_t vocab = 0;         ///< V, tokens in the vocabulary
    std::int64_t max_length = 128;  ///< rows of the table of positions
    std::int64_t dim = 128;         ///< C, width of the model
    std::int64_t heads = 4;         ///< H; divides dim
    std::int64_t layers = 4;        ///< number of blocks
    std::int64_t hidden = 0;        ///< of the feed-forward networks; 4 dim if 0
    /// Probability, in training: on embeddings, attention weights and residual branches.
    double dropout = 0.1;
    std::int64_t types = 0;        ///< token types: 2 for a first and a second text; 0: no table
    std::int64_t classes = 0;      ///< classes of whole sequences; 0: no classifier
    std::int64_t padding_id = -1;  ///< the id that fills short sequences; -1: there is none
    double norm_eps = 1e-12;       ///< epsilon of all norms
    double deviation = 0.02;  ///< initial deviation of matrices and tables; narrow models need more
};

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
    std::string settings() const override;

private:
    void initialise(Generator& generator);

    MaskedLanguageModelConfig config_;
};

}  // namespace tapestry
