// Several attentions side by side, each in its own subspace.
#pragma once

#include <tapestry/nn/linear.h>

namespace tapestry {

struct MultiHeadAttentionConfig {
    std::int64_t dim = 0;
    std::int64_t heads = 1;
    bool causal = false;  ///< position t attends to positions 0 .. t
    double dropout = 0;   ///< on the attention weights, in training
    bool bias = true;
};

/// Self-attention, x [B, T, C] -> [B, T, C]:
///     head_i = softmax(Q_i K_i^T / sqrt(D)) V_i,  D = C / heads,  y = [head_1 ... head_H] W_O.
/// Source: Vaswani et al. 2017, section 3.2.
class MultiHeadAttention : public Module {
public:
    Linear qkv;     // [3 C, C]: the three projections of all heads in one product
    Linear output;  // [C, C]

    /// Throws ValueError when heads do not divide dim.
    explicit MultiHeadAttention(const MultiHeadAttentionConfig& config,
                                Generator& generator = default_generator());
    Tensor operator()(const Tensor& x) const;
    std::string settings() const override;

private:
    MultiHeadAttentionConfig config_;
    Generator& generator_;
};

}  // namespace tapestry
