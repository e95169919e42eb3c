// The Transformer of "Attention Is All You Need": an encoder reads a sequence, a decoder writes
// another, attending to what was read.
#pragma once

#include <tapestry/nn/layers/embedding.h>
#include <tapestry/nn/layers/positions.h>
#include <tapestry/nn/models/transformer_config.h>
#include <tapestry/nn/transformer/decoder.h>
#include <tapestry/nn/transformer/encoder.h>

namespace tapestry {

/// What decoding may be given besides ids and memory; all optional.
struct TransformerDecodeInputs {
    std::vector<DecoderCache>* caches = nullptr;  ///< the ids continue those of earlier calls
    std::vector<DecoderRecord>* records = nullptr;
};

/// source ids [B, S], target ids [B, T] -> logits [B, T, V] of the target's next tokens.
/// Embeddings are scaled by sqrt(dim) and given positions. Matrices begin uniform after Glorot,
/// embeddings normal with deviation 1 / sqrt(dim), biases 0.
/// Source: Vaswani et al. 2017; sections 3.4 (shared embeddings) and 5.4 (dropout, smoothing).
class Transformer : public Module {
public:
    Embedding source_embedding;  // [V_source, C]
    Embedding target_embedding;  // [V_target, C]
    std::optional<PositionalEncoding> source_positions, target_positions;
    Dropout embedding_dropout;
    Encoder encoder;
    Decoder decoder;
    Linear head;  // [V_target, C], no bias

    /// Throws ValueError for sizes that are not positive, shared embeddings of two vocabularies,
    /// learned positions without max_length, and as MultiHeadAttention does.
    explicit Transformer(const TransformerConfig& config,
                         Generator& generator = default_generator());

    /// source i64 [B, S] -> memory [B, S, C].
    Tensor encode(const Tensor& source, std::vector<AttentionRecord>* records = nullptr) const;

    /// target i64 [B, T], what was written so far, and the memory of `source` -> logits [B, T, V].
    Tensor decode(const Tensor& target, const Tensor& memory, const Tensor& source,
                  const TransformerDecodeInputs& inputs = {}) const;

    Tensor operator()(const Tensor& source, const Tensor& target) const;

    /// Mean cross-entropy of predicting next [B, T] after target [B, T], label-smoothed; places
    /// whose `next` is the padding id do not count.
    Tensor loss(const Tensor& source, const Tensor& target, const Tensor& next) const;

    const TransformerConfig& config() const { return config_; }
    std::string settings() const override;

private:
    void initialise(Generator& generator);
    Tensor embed(const Embedding& table, const std::optional<PositionalEncoding>& positions,
                 const Tensor& ids, std::int64_t first) const;
    Tensor memory_mask(const Tensor& source) const;

    TransformerConfig config_;
};

}  // namespace tapestry
