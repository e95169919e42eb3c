// The Transformer of "Attention Is All You Need": an encoder reads a sequence, and a decoder that
// attends to it writes another. Read next: transformer_config.h, its configuration;
// nn/transformer/blocks.h, encoder and decoder.
#pragma once

#include <tapestry/nn/layers/embedding.h>
#include <tapestry/nn/models/transformer_config.h>
#include <tapestry/nn/transformer/blocks.h>

namespace tapestry {

/// Optional inputs of decoding, other than ids and memory.
struct TransformerDecodeInputs {
    std::vector<DecoderCache>* caches = nullptr;  ///< the ids continue those of earlier calls
    std::vector<DecoderRecord>* records =
        nullptr;  ///< resized to one per layer and filled if not null
};

/// source ids [B, S], target ids [B, T] -> logits [B, T, V] for the target's next tokens.
/// Embeddings are scaled by sqrt(dim), and positions added. Matrices are initially Glorot uniform,
/// embeddings normal with deviation 1 / sqrt(dim), biases 0. Source: Vaswani et al. 2017; sections
/// 3.4 (shared embeddings) and 5.4 (dropout, smoothing).
class Transformer : public Module {
public:
    Embedding source_embedding;                          ///< [V_source, C]
    Embedding target_embedding;                          ///< [V_target, C]
    std::optional<PositionalEncoding> source_positions,  ///< if positions are added
        target_positions;                                ///< if positions are added
    Dropout embedding_dropout;                           ///< after the embeddings, in training
    Encoder encoder;                                     ///< reads the source
    Decoder decoder;                                     ///< writes the target
    Linear head;                                         ///< [V_target, C], no bias

    /// Throws ValueError for sizes that are not positive, shared embeddings with two different
    /// vocabularies, learned positions without max_length, and as MultiHeadAttention does.
    explicit Transformer(const TransformerConfig& config,
                         Generator& generator = default_generator());

    /// source i64 [B, S] -> memory [B, S, C].
    Tensor encode(const Tensor& source, std::vector<AttentionRecord>* records = nullptr) const;

    /// target i64 [B, T], the tokens so far, and the memory of `source` -> logits [B, T, V].
    Tensor decode(const Tensor& target, const Tensor& memory, const Tensor& source,
                  const TransformerDecodeInputs& inputs = {}) const;

    /// The logits of decode(target, encode(source), source).
    Tensor operator()(const Tensor& source, const Tensor& target) const;

    /// Mean cross-entropy of predicting next [B, T] after target [B, T], label-smoothed; excludes
    /// positions whose `next` is the padding id.
    Tensor loss(const Tensor& source, const Tensor& target, const Tensor& next) const;

    /// As given; with bf16 parameters it computes in bf16 as well.
    const TransformerConfig& config() const { return config_; }
    /// Sets the compute type of later calls.
    void compute_in(ComputeType type) { config_.compute = type; }
    std::string settings() const override;

private:
    void initialise(Generator& generator);
    Tensor embed(const Embedding& table, const std::optional<PositionalEncoding>& positions,
                 const Tensor& ids, std::int64_t first) const;
    Tensor memory_mask(const Tensor& source) const;

    TransformerConfig config_;
};

}  // namespace tapestry
