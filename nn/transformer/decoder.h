// The decoder: every position looks back at what has been written so far, then at the memory the
// encoder left, then is worked on by itself; repeated.
#pragma once

#include <tapestry/nn/transformer/block.h>

#include <memory>
#include <vector>

namespace tapestry {

/// Of one layer, while a sequence is written token by token.
struct DecoderCache {
    KeyValueCache self;    ///< of the tokens so far
    KeyValueCache memory;  ///< of the memory, computed once
};

struct DecoderRecord {
    AttentionRecord self;    ///< weights [B, H, T, T]
    AttentionRecord memory;  ///< weights [B, H, T, S]
};

struct DecoderLayerInputs {
    Tensor mask = {};         ///< of self-attention, besides the causal one: [B, H, T, T]
    Tensor memory_mask = {};  ///< of attention to the memory: broadcasts to [B, H, T, S]
    DecoderCache* cache = nullptr;
    DecoderRecord* record = nullptr;
};

/// x [B, T, C], memory [B, S, C] -> [B, T, C]:
///     h = norm(x + attention(x)), causal; m = norm(h + cross_attention(h, memory));
///     y = norm(m + feed_forward(m));
/// or with norm_first the norm stands before each part, as in TransformerBlock.
/// Source: Vaswani et al. 2017, section 3.1.
class DecoderLayer : public Module {
public:
    LayerNorm attention_norm;
    MultiHeadAttention attention;
    LayerNorm cross_attention_norm;
    MultiHeadAttention cross_attention;
    LayerNorm feed_forward_norm;
    FeedForward feed_forward;
    Dropout residual_dropout;

    /// config.causal is taken as set: a decoder may not look ahead.
    explicit DecoderLayer(const TransformerLayerConfig& config,
                          Generator& generator = default_generator());
    Tensor operator()(const Tensor& x, const Tensor& memory,
                      const DecoderLayerInputs& inputs = {}) const;
    std::string settings() const override;

private:
    bool norm_first_;
};

struct DecoderConfig {
    std::int64_t layers = 6;
    TransformerLayerConfig layer = {};
    bool final_norm = false;
};

struct DecoderInputs {
    Tensor mask = {};
    Tensor memory_mask = {};
    std::vector<DecoderCache>* caches = nullptr;  ///< one per layer: an empty vector is filled
    std::vector<DecoderRecord>* records = nullptr;
};

/// A stack of layers, x [B, T, C], memory [B, S, C] -> [B, T, C].
class Decoder : public Module {
public:
    std::vector<std::unique_ptr<DecoderLayer>> layers;
    std::optional<LayerNorm> norm;

    /// Throws ValueError for fewer than one layer.
    explicit Decoder(const DecoderConfig& config, Generator& generator = default_generator());
    Tensor operator()(const Tensor& x, const Tensor& memory,
                      const DecoderInputs& inputs = {}) const;
};

}  // namespace tapestry
