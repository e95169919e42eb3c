// Llama and its relatives: a decoder-only Transformer whose blocks are described by data
// (llama_config.h). Llama's own have RMS norms, rotary positions, SwiGLU and no biases. Read next:
// nn/models/language_model.h, what it is used through.
#pragma once

#include <tapestry/nn/layers/embedding.h>
#include <tapestry/nn/layers/norm.h>
#include <tapestry/nn/models/language_model.h>
#include <tapestry/nn/models/llama/llama_config.h>

namespace tapestry {

/// [B, T, C] -> [B, T, C]: h = x + attention(norm(x)), y = h + feed_forward(norm(h)); or with
/// config.parallel y = x + attention(norm(x)) + feed_forward(other_norm(x)). Source of this form:
/// Black et al. 2022, "GPT-NeoX-20B", section 2.1.
class LlamaBlock : public Module {
public:
    VectorNorm attention_norm;     ///< before attention
    MultiHeadAttention attention;  ///< causal
    VectorNorm feed_forward_norm;  ///< before the feed-forward network
    FeedForward feed_forward;      ///< on each vector by itself
    Dropout residual_dropout;      ///< on both residual branches, in training

    /// Block `number`, counted from 0: every config.window_every-th is windowed. Throws as
    /// MultiHeadAttention and FeedForward do.
    explicit LlamaBlock(const LlamaConfig& config, std::int64_t number = 0,
                        Generator& generator = default_generator());
    /// x [B, T, C] -> [B, T, C].
    Tensor operator()(const Tensor& x, const TransformerBlockInputs& inputs = {}) const;

private:
    bool parallel_;
};

/// The blocks in sequence, [B, T, C] -> [B, T, C].
class LlamaStack : public Module {
public:
    std::vector<Submodule<LlamaBlock>> layers;  ///< in order; each can be replaced

    /// Throws as LlamaBlock does.
    explicit LlamaStack(const LlamaConfig& config, Generator& generator = default_generator());
    /// x [B, T, C] -> [B, T, C]. Throws ShapeError for a number of caches or records other than 0
    /// and layers.
    Tensor operator()(const Tensor& x, const TransformerStackInputs& inputs = {}) const;

private:
    bool recompute_;
};

/// ids [B, T] -> logits [B, T, V]: blocks between embeddings and a linear head. Matrices are
/// initially normal with the config's deviation, and those that write to the residual stream
/// smaller by sqrt(2 layers); biases are 0. Rotary pairs are halves of a head, as in the weights of
/// Hugging Face's models. Sources: Touvron et al. 2023, "LLaMA", section 2.2; grouped heads: "Llama
/// 2", appendix A.2; norms of queries and keys: Qwen Team 2025, "Qwen3 Technical Report", section
/// 2.
class Llama : public LanguageModel {
public:
    Embedding token_embedding;                             ///< [V, C]
    std::optional<PositionalEncoding> position_embedding;  ///< [context, C]; if positions are added
    LlamaStack blocks;                                     ///< layers of them
    VectorNorm final_norm;                                 ///< before the head
    Linear head;  ///< [V, C], no bias; with tied_head its weight is the token embedding's

    /// Throws ValueError for sizes that are not positive or heads that do not divide dim, and as
    /// MultiHeadAttention does. bf16 weights are drawn in f32 and rounded to nearest.
    explicit Llama(const LlamaConfig& config, Generator& generator = default_generator());

    /// As LanguageModel has it; throws also as LlamaStack does.
    Tensor operator()(const Tensor& ids, const TransformerStackInputs& inputs = {}) const override;

    const LlamaConfig& config() const { return config_; }  ///< as given
    ModelConfig model_config() const override { return config_; }
    void compute_in(ComputeType type) override { config_.compute = type; }
    std::string settings() const override;

protected:
    LastLayer last_layer() const override { return {&head}; }
    Tensor features(const Tensor& ids, const TransformerStackInputs& inputs) const override;

private:
    void initialise(Generator& generator);

    LlamaConfig config_;
};

}  // namespace tapestry
