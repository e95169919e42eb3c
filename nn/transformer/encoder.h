// The encoder: every vector looks at all the others, then each is worked on by itself; repeated.
// With `causal` set the same layer is the block of a decoder-only model such as GPT, whose tokens
// look back but not ahead.
#pragma once

#include <tapestry/nn/attention/multi_head_attention.h>
#include <tapestry/nn/dropout.h>
#include <tapestry/nn/feed_forward.h>
#include <tapestry/nn/norm.h>

#include <memory>
#include <optional>
#include <vector>

namespace tapestry {

/// One layer, of an encoder or a decoder.
struct TransformerLayerConfig {
    std::int64_t dim = 0;
    std::int64_t heads = 1;
    std::int64_t hidden = 0;  ///< of the feed-forward network; 4 dim if 0
    double dropout = 0;       ///< on attention weights, and on what each part adds to its input
    std::optional<double> attention_dropout = {};  ///< on the weights, if not the same
    double head_dropout = 0;                       ///< on whole heads
    Activation activation = Activation::relu;
    bool norm_first = false;  ///< x + f(norm(x)) instead of the paper's norm(x + f(x))
    bool causal = false;      ///< self-attention looks at positions 0 .. t only
    bool rotary = false;
    bool bias = true;
    double norm_eps = 1e-5;
    AttentionFormFactory form = {};  ///< of self-attention; softmax if empty
};

/// What the parts of a layer are made from, here and in the decoder's.
MultiHeadAttentionConfig self_attention_config(const TransformerLayerConfig& config);
FeedForwardConfig feed_forward_config(const TransformerLayerConfig& config);

/// What a layer may be given besides x.
struct EncoderLayerInputs {
    Tensor mask = {};  ///< as in AttentionOptions; broadcasts to [B, H, T, T]
    KeyValueCache* cache = nullptr;
    AttentionRecord* record = nullptr;
};

/// [B, T, C] -> [B, T, C]: h = norm(x + attention(x)), y = norm(h + feed_forward(h)); or with
/// norm_first h = x + attention(norm(x)), y = h + feed_forward(norm(h)).
/// Sources: Vaswani et al. 2017, section 3.1; norm first: Xiong et al. 2020, "On Layer
/// Normalization in the Transformer Architecture", and GPT-2.
class EncoderLayer : public Module {
public:
    LayerNorm attention_norm;
    MultiHeadAttention attention;
    LayerNorm feed_forward_norm;
    FeedForward feed_forward;
    Dropout residual_dropout;

    explicit EncoderLayer(const TransformerLayerConfig& config,
                          Generator& generator = default_generator());
    Tensor operator()(const Tensor& x, const EncoderLayerInputs& inputs = {}) const;
    std::string settings() const override;

private:
    bool norm_first_;
};

struct EncoderConfig {
    std::int64_t layers = 6;
    TransformerLayerConfig layer = {};
    bool final_norm = false;  ///< one more norm at the end, which norm_first layers need
    /// In training keep the input of each layer alone and compute the rest again on the way back
    /// (autograd/checkpoint.h): a third more time for a fraction of the memory, the same bits.
    /// Calls with caches or records do not.
    bool checkpoint = false;
};

/// What a stack of layers may be given besides x.
struct EncoderInputs {
    Tensor mask = {};  ///< the same for all layers
    /// One per layer: an empty vector is filled (ShapeError for another number).
    std::vector<KeyValueCache>* caches = nullptr;
    std::vector<AttentionRecord>* records = nullptr;
};

/// A stack of layers, [B, T, C] -> [B, T, C].
class Encoder : public Module {
public:
    std::vector<std::unique_ptr<EncoderLayer>> layers;
    std::optional<LayerNorm> norm;

    /// Throws ValueError for fewer than one layer.
    explicit Encoder(const EncoderConfig& config, Generator& generator = default_generator());
    Tensor operator()(const Tensor& x, const EncoderInputs& inputs = {}) const;

private:
    bool checkpoint_;
};

}  // namespace tapestry
