// Attention without softmax: where the weight of a pair is a product of features, the sum over keys
// can be taken before any query is there.
#pragma once

#include <tapestry/nn/attention/form.h>

namespace tapestry {

/// y_i = sum_j (a_i . b_j) v_j / sum_j (a_i . b_j), over all j, or j <= i + S - T if causal, for
/// features a [B, H, T, F] of queries and b [B, H, S, F] of keys, none negative, and v [B, H, S,
/// E]. Rows whose denominator is 0 are 0.
///
/// Cost: O((T + S) F E) operations. Causal, the sum over j runs along the sequence in chunks of
/// c = max(32, F): inside a chunk the pairs are formed, and what was before it is one matrix [F,
/// E], the sum of b_j v_j^T so far. O(T (c + F E / c)) numbers are kept.
Tensor linear_attention(const Tensor& a, const Tensor& b, const Tensor& v, bool causal);

/// linear_attention of phi(q) and phi(k), phi(x) = elu(x) + 1 = x + 1 where x > 0, else e^x.
/// Cost: O((T + S) D E) operations, O(T (D + E)) numbers kept. What it keeps of a sequence is a
/// matrix [D, E]: it cannot tell more than about D keys apart.
///
/// Masks: bool [B, 1, 1, S] (others: ValueError). There are no scores and no weights: a scale or
/// dropout throws ValueError.
/// Source: Katharopoulos et al. 2020, "Transformers are RNNs", equations 5 and 7.
class LinearAttention : public AttentionForm {
public:
    LinearAttention() : AttentionForm("LinearAttention") {}

    Tensor operator()(const Tensor& q, const Tensor& k, const Tensor& v,
                      const AttentionOptions& options) const override;
};

}  // namespace tapestry
