// The block of a Transformer: every vector looks at the others, then each is worked on by itself.
// With `causal` set tokens look back but not ahead, and it is the block of a decoder-only model
// such as GPT; without, the layer of an encoder (encoder.h). Read next: stack.h, many of them.
#pragma once

#include <tapestry/nn/attention/multi_head_attention.h>
#include <tapestry/nn/layers/dropout.h>
#include <tapestry/nn/layers/feed_forward.h>
#include <tapestry/nn/layers/norm.h>

#include <optional>

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

}  // namespace tapestry
