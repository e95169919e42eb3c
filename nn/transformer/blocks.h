// The layers of a Transformer, and stacks of them: encoder and decoder. In a block every vector
// looks at the others, then each is worked on by itself. With `causal` set tokens look back but not
// ahead, and it is the block of a decoder-only model such as GPT; without, the layer of an encoder.
// Read next: nn/models/gpt.h, nn/models/transformer.h.
#pragma once

#include <tapestry/nn/attention/multi_head_attention.h>
#include <tapestry/nn/layers/dropout.h>
#include <tapestry/nn/layers/feed_forward.h>
#include <tapestry/nn/layers/norm.h>

#include <memory>
#include <optional>
#include <vector>

namespace tapestry {

/// One layer: a block, or a layer of the decoder that also looks at a memory.
struct TransformerLayerConfig {
    std::int64_t dim = 0;
    std::int64_t heads = 1;
    std::int64_t kv_heads = 0;  ///< of keys and values; heads if 0
    std::int64_t hidden = 0;    ///< of the feed-forward network; 4 dim if 0
    double dropout = 0;         ///< on attention weights, and on what each part adds to its input
    std::optional<double> attention_dropout = {};  ///< on the weights, if not the same
    double head_dropout = 0;                       ///< on whole heads
    Activation activation = Activation::relu;
    bool norm_first = false;  ///< x + f(norm(x)) instead of the paper's norm(x + f(x))
    bool causal = false;      ///< self-attention looks at positions 0 .. t only
    Positions positions = Positions::none;  ///< of which attention does its part
    RotaryConfig rotary = {};
    QKNorm qk_norm = QKNorm::none;
    bool bias = true;
    double norm_eps = 1e-5;
    AttentionFormFactory form = {};  ///< of self-attention; softmax if empty
};

/// What the parts of a layer are made from, here and in the decoder's.
MultiHeadAttentionConfig self_attention_config(const TransformerLayerConfig& config);
FeedForwardConfig feed_forward_config(const TransformerLayerConfig& config);

/// What a block may be given besides x.
struct TransformerBlockInputs {
    Tensor mask = {};  ///< as in AttentionOptions; broadcasts to [B, H, T, T]
    KeyValueCache* cache = nullptr;
    AttentionRecord* record = nullptr;
};

/// [B, T, C] -> [B, T, C]: h = norm(x + attention(x)), y = norm(h + feed_forward(h)); or with
/// norm_first h = x + attention(norm(x)), y = h + feed_forward(norm(h)).
/// Sources: Vaswani et al. 2017, section 3.1; norm first: Xiong et al. 2020, "On Layer
/// Normalization in the Transformer Architecture", and GPT-2.
class TransformerBlock : public Module {
public:
    LayerNorm attention_norm;
    MultiHeadAttention attention;
    LayerNorm feed_forward_norm;
    FeedForward feed_forward;
    Dropout residual_dropout;

    explicit TransformerBlock(const TransformerLayerConfig& config,
                              Generator& generator = default_generator());
    Tensor operator()(const Tensor& x, const TransformerBlockInputs& inputs = {}) const;
    std::string settings() const override;

private:
    bool norm_first_;
};

// ---- a stack of blocks: the body of a GPT, and of an encoder ------------------------------------

struct TransformerStackConfig {
    std::int64_t layers = 6;
    TransformerLayerConfig layer = {};
    bool final_norm = false;  ///< one more norm at the end, which norm_first layers need
    /// In training keep the input of each block alone and compute the rest again on the way back
    /// (autograd/recompute.h): a third more time for a fraction of the memory, the same bits.
    /// Calls with caches or records do not.
    bool recompute = false;
};

/// What a stack may be given besides x.
struct TransformerStackInputs {
    Tensor mask = {};  ///< the same for all layers
    /// One per layer: an empty vector is filled (ShapeError for another number).
    std::vector<KeyValueCache>* caches = nullptr;
    std::vector<AttentionRecord>* records = nullptr;
};

/// Block after block, [B, T, C] -> [B, T, C].
class TransformerStack : public Module {
public:
    std::vector<std::unique_ptr<TransformerBlock>> layers;
    std::optional<LayerNorm> norm;

    /// Throws ValueError for fewer than one layer.
    explicit TransformerStack(const TransformerStackConfig& config,
                              Generator& generator = default_generator());
    Tensor operator()(const Tensor& x, const TransformerStackInputs& inputs = {}) const;

private:
    bool recompute_;
};

// The encoder, as the paper and PyTorch name it: a stack of blocks in which every vector looks at
// all the others. The same stack with `causal` set is the body of a GPT, hence its own names.
using EncoderLayer = TransformerBlock;
using EncoderLayerInputs = TransformerBlockInputs;
using Encoder = TransformerStack;
using EncoderConfig = TransformerStackConfig;
using EncoderInputs = TransformerStackInputs;

// ---- the decoder --------------------------------------------------------------------------------

// The decoder: every position looks back at what has been written so far, then at the memory the
// encoder left, then is worked on by itself; repeated.

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
