// The layers of a Transformer, and stacks of them: encoder and decoder. In a block, attention mixes
// the vectors, and then a feed-forward network maps each one separately. With `causal`, tokens look
// back but not ahead, as in the blocks of a decoder-only model such as GPT; without it, this is an
// encoder's layer.
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

/// Configuration of a layer: a block, or a decoder layer with cross-attention.
struct TransformerLayerConfig {
    std::int64_t dim = 0;       ///< C, width of the model
    std::int64_t heads = 1;     ///< H, of the queries; divides dim
    std::int64_t kv_heads = 0;  ///< heads of keys and values; heads if 0
    std::int64_t hidden = 0;    ///< of the feed-forward network; 4 dim if 0
    double dropout = 0;         ///< on attention weights, and on the residual branches
    std::optional<double> attention_dropout = {};  ///< on attention weights, if different
    double head_dropout = 0;                       ///< on whole heads
    Activation activation = Activation::relu;      ///< of the feed-forward network
    bool norm_first = false;  ///< x + f(norm(x)) instead of the paper's norm(x + f(x))
    bool causal = false;      ///< position t attends to positions 0 .. t only
    Positions positions = Positions::none;  ///< attention applies rotary, alibi and relative
    RotaryConfig rotary = {};               ///< for rotary positions
    QKNorm qk_norm = QKNorm::none;          ///< normalisation of queries and keys
    bool bias = true;                       ///< whether norms and linear layers have biases
    double norm_eps = 1e-5;                 ///< epsilon of all norms
    AttentionFormFactory form = {};         ///< of self-attention; softmax if empty
};

/// Configurations of a layer's parts, here and in the decoder.
MultiHeadAttentionConfig self_attention_config(const TransformerLayerConfig& config);
/// The configuration of a layer's feed-forward network.
FeedForwardConfig feed_forward_config(const TransformerLayerConfig& config);

/// Optional inputs of a block.
struct TransformerBlockInputs {
    Tensor mask = {};                   ///< as in AttentionOptions; broadcasts to [B, H, T, T]
    KeyValueCache* cache = nullptr;     ///< if given, the ids continue those of earlier calls
    AttentionRecord* record = nullptr;  ///< filled if not null
};

/// [B, T, C] -> [B, T, C]: h = norm(x + attention(x)), y = norm(h + feed_forward(h)); or with
/// norm_first h = x + attention(norm(x)), y = h + feed_forward(norm(h)).
/// Sources: Vaswani et al. 2017, section 3.1; norm first: Xiong et al. 2020, "On Layer
/// Normalization in the Transformer Architecture", and GPT-2.
class TransformerBlock : public Module {
public:
    LayerNorm attention_norm;      ///< after attention, or before it with norm_first
    MultiHeadAttention attention;  ///< between the vectors of a sequence
    LayerNorm feed_forward_norm;   ///< after the feed-forward network, or before it with norm_first
    FeedForward feed_forward;      ///< on each vector by itself
    Dropout residual_dropout;      ///< on both residual branches, in training

    /// Throws as MultiHeadAttention and FeedForward do.
    explicit TransformerBlock(const TransformerLayerConfig& config,
                              Generator& generator = default_generator());
    /// x [B, T, C] -> [B, T, C].
    Tensor operator()(const Tensor& x, const TransformerBlockInputs& inputs = {}) const;
    std::string settings() const override;

private:
    bool norm_first_;
};

// ---- a stack of blocks: the body of a GPT, and of an encoder ------------------------------------

/// The configuration of a TransformerStack.
struct TransformerStackConfig {
    std::int64_t layers = 6;            ///< number of blocks
    TransformerLayerConfig layer = {};  ///< of each block
    bool final_norm = false;            ///< a final norm, which norm_first layers need
    /// In training, keeps only the input of each block and recomputes the rest in the backward pass
    /// (autograd/recompute.h): a third more time for a fraction of the memory, with the same bits.
    /// Not used in calls with caches or records.
    bool recompute = false;
};

/// Optional inputs of a stack.
struct TransformerStackInputs {
    Tensor mask = {};  ///< the same for all layers
    /// One per layer; an empty vector is resized (ShapeError for any other size).
    std::vector<KeyValueCache>* caches = nullptr;
    /// Resized to one per layer and filled if not null.
    std::vector<AttentionRecord>* records = nullptr;
};

/// A sequence of blocks, [B, T, C] -> [B, T, C].
class TransformerStack : public Module {
public:
    std::vector<Submodule<TransformerBlock>> layers;  ///< in order; each can be replaced
    std::optional<LayerNorm> norm;                    ///< with final_norm

    /// Throws ValueError for fewer than one layer.
    explicit TransformerStack(const TransformerStackConfig& config,
                              Generator& generator = default_generator());
    /// x [B, T, C] -> [B, T, C]. Throws ShapeError for a number of caches other than 0 and
    /// `layers`.
    Tensor operator()(const Tensor& x, const TransformerStackInputs& inputs = {}) const;

private:
    bool recompute_;
};

// The encoder, as the paper and PyTorch call it: a stack of blocks in which every vector sees all
// others. The same stack with `causal` is the body of a GPT, hence two sets of names.
/// The encoder's name for a block.
using EncoderLayer = TransformerBlock;
/// The encoder's name for a block's inputs.
using EncoderLayerInputs = TransformerBlockInputs;
/// A stack of blocks in which every vector sees all others.
using Encoder = TransformerStack;
/// The encoder's name for a stack's configuration.
using EncoderConfig = TransformerStackConfig;
/// The encoder's name for a stack's inputs.
using EncoderInputs = TransformerStackInputs;

// ---- the decoder --------------------------------------------------------------------------------

// The decoder: in each layer, every position attends to the target so far, then to the encoder's
// output (the memory), and then passes through the feed-forward network.

/// Caches of one layer, for generating a sequence token by token.
struct DecoderCache {
    KeyValueCache self;    ///< of the tokens so far
    KeyValueCache memory;  ///< of the memory, computed once
};

/// What one layer's attention computed, for inspection.
struct DecoderRecord {
    AttentionRecord self;    ///< weights [B, H, T, T]
    AttentionRecord memory;  ///< weights [B, H, T, S]
};

/// Optional inputs of a decoder layer.
struct DecoderLayerInputs {
    Tensor mask = {};         ///< of self-attention, in addition to the causal mask: [B, H, T, T]
    Tensor memory_mask = {};  ///< of cross-attention: broadcasts to [B, H, T, S]
    DecoderCache* cache = nullptr;    ///< if given, x continues the sequence of earlier calls
    DecoderRecord* record = nullptr;  ///< filled if not null
};

/// x [B, T, C], memory [B, S, C] -> [B, T, C]:
///     h = norm(x + attention(x)), causal; m = norm(h + cross_attention(h, memory));
///     y = norm(m + feed_forward(m));
/// or with norm_first the norm precedes each part, as in TransformerBlock.
/// Source: Vaswani et al. 2017, section 3.1.
class DecoderLayer : public Module {
public:
    LayerNorm attention_norm;            ///< of self-attention
    MultiHeadAttention attention;        ///< between the vectors of the target
    LayerNorm cross_attention_norm;      ///< of cross-attention
    MultiHeadAttention cross_attention;  ///< from the target to the memory
    LayerNorm feed_forward_norm;         ///< of the feed-forward network
    FeedForward feed_forward;            ///< on each vector by itself
    Dropout residual_dropout;            ///< on all three residual branches, in training

    /// Ignores config.causal: a decoder never looks ahead.
    explicit DecoderLayer(const TransformerLayerConfig& config,
                          Generator& generator = default_generator());
    /// x [B, T, C], memory [B, S, C] -> [B, T, C].
    Tensor operator()(const Tensor& x, const Tensor& memory,
                      const DecoderLayerInputs& inputs = {}) const;
    std::string settings() const override;

private:
    bool norm_first_;
};

/// The configuration of a Decoder.
struct DecoderConfig {
    std::int64_t layers = 6;            ///< number of layers
    TransformerLayerConfig layer = {};  ///< of each layer
    bool final_norm = false;            ///< a final norm, which norm_first layers need
};

/// Optional inputs of a Decoder, the same for all layers.
struct DecoderInputs {
    Tensor mask = {};         ///< of self-attention, in addition to the causal mask
    Tensor memory_mask = {};  ///< of cross-attention
    std::vector<DecoderCache>* caches = nullptr;  ///< one per layer; an empty vector is resized
    /// Resized to one per layer and filled if not null.
    std::vector<DecoderRecord>* records = nullptr;
};

/// A stack of layers, x [B, T, C], memory [B, S, C] -> [B, T, C].
class Decoder : public Module {
public:
    std::vector<Submodule<DecoderLayer>> layers;  ///< in order; each can be replaced
    std::optional<LayerNorm> norm;                ///< with final_norm

    /// Throws ValueError for fewer than one layer.
    explicit Decoder(const DecoderConfig& config, Generator& generator = default_generator());
    /// x [B, T, C], memory [B, S, C] -> [B, T, C].
    Tensor operator()(const Tensor& x, const Tensor& memory,
                      const DecoderInputs& inputs = {}) const;
};

}  // namespace tapestry
