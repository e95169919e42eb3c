// GPT: a decoder-only Transformer that predicts the next token.
#pragma once

#include <tapestry/nn/layers/embedding.h>
#include <tapestry/nn/models/gpt_config.h>
#include <tapestry/nn/models/language_model.h>
#include <tapestry/nn/transformer/blocks.h>

namespace tapestry {

/// ids [B, T] -> logits [B, T, V]: causal blocks with the norm first, between embeddings and a
/// linear head. Matrices are initially normal with the config's deviation; those that write to the
/// residual stream are smaller by sqrt(2 layers), or 0; biases and the table of pairs are 0.
/// Source: Radford et al. 2019 (GPT-2), section 2.3.
class GPT : public LanguageModel {
public:
    Embedding token_embedding;                             ///< [V, C]
    std::optional<PositionalEncoding> position_embedding;  ///< [context, C]; if positions are added
    std::optional<Submodule<PositionForm>> position_form;  ///< if configured
    std::optional<TokenHistory> token_history;             ///< if configured
    Dropout embedding_dropout;                             ///< after the embeddings, in training
    TransformerStack blocks;                               ///< layers of them, causal
    LayerNorm final_norm;                                  ///< before the head
    Linear head;  ///< [V, C], no bias; with tied_head its weight is the token embedding's

    /// Throws ValueError for sizes that are not positive or heads that do not divide dim, and as
    /// MultiHeadAttention does. bf16 weights are drawn in f32 and rounded to nearest.
    explicit GPT(const GPTConfig& config, Generator& generator = default_generator());

    Tensor operator()(const Tensor& ids, const TransformerStackInputs& inputs = {}) const override;
    const GPTConfig& config() const { return config_; }  ///< as given
    ModelConfig model_config() const override { return config_; }
    void compute_in(ComputeType type) override { config_.compute = type; }
    std::string settings() const override;

protected:
    LastLayer last_layer() const override { return {&head, config_.softcap}; }
    Tensor features(const Tensor& ids, const TransformerStackInputs& inputs) const override;

private:
    void initialise(Generator& generator);
    Tensor embedded(const Tensor& ids, const TransformerStackInputs& inputs) const;

    GPTConfig config_;
};

}  // namespace tapestry
