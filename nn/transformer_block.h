// One block of a decoder-only Transformer, normalising before each part.
#pragma once

#include <tapestry/nn/attention.h>
#include <tapestry/nn/dropout.h>
#include <tapestry/nn/feed_forward.h>
#include <tapestry/nn/norm.h>

namespace tapestry {

struct TransformerBlockConfig {
    std::int64_t dim = 0;
    std::int64_t heads = 1;
    double dropout = 0;
    bool causal = true;
    bool bias = true;
};

/// x = x + attention(norm(x)); x = x + feed_forward(norm(x)), [B, T, C] -> [B, T, C].
/// Source: Radford et al. 2019 (GPT-2), section 2.3.
class TransformerBlock : public Module {
public:
    LayerNorm attention_norm;
    MultiHeadAttention attention;
    LayerNorm feed_forward_norm;
    FeedForward feed_forward;
    Dropout residual_dropout;

    explicit TransformerBlock(const TransformerBlockConfig& config,
                              Generator& generator = default_generator());
    Tensor operator()(const Tensor& x) const;
};

}  // namespace tapestry
