// Attention whose cost is linear in the sequence's length. Without softmax: where the weight of a
// pair is a product of features, the sum over keys can be taken before any query is there
// (LinearAttention; PerformerAttention, whose random features estimate the softmax). Or with it, to
// k summaries of the sequence instead of its T positions (LinformerAttention). Read next: form.h.
#pragma once

#include <tapestry/core/random.h>
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

// ---- Performer ----------------------------------------------------------------------------------

// Softmax attention, estimated by random features whose products have e^(q.k) as their mean.

/// phi(x) = exp(W x - |x|^2 / 2) / sqrt(m) for x [..., D] and W [m, D]: [..., m]. With rows of W
/// drawn from N(0, 1), E[phi(x) . phi(y)] = e^(x.y). Overflows for large x, as e^(x.y) does.
Tensor positive_features(const Tensor& x, const Tensor& projection);

/// [m, D]: rows distributed as N(0, 1), but in every D consecutive ones orthogonal to one another,
/// which lessens the variance of what is estimated with them.
Tensor orthogonal_gaussian(std::int64_t m, std::int64_t dim, Generator& generator,
                           DType dtype = DType::f32);

/// linear_attention of phi(sqrt(scale) q) and phi(sqrt(scale) k), whose products estimate the
/// e^(scale q.k) of softmax attention without bias; the error of a weight falls as 1 / sqrt(m) and
/// grows with e^(|q + k|^2), so that sharp attention needs many features.
///
/// Cost: O((T + S) m (D + E)) operations, O(T (m + E)) numbers kept. Masks: bool [B, 1, 1, S]
/// (others: ValueError). There are no weights: dropout throws ValueError. The projection W [m, D]
/// is a buffer, saved with the model. Source: Choromanski et al. 2020, "Rethinking Attention with
/// Performers" (FAVOR+), lemma 1 and section 2.4.
class PerformerAttention : public AttentionForm {
public:
    Tensor projection;  // W [m, D]

    /// For heads of size D = `head_dim`, with m = `features`. Throws ValueError unless both are
    /// positive.
    PerformerAttention(std::int64_t head_dim, std::int64_t features,
                       Generator& generator = default_generator());

    /// Draws new features: now and then in training, so that no model fits itself to one draw.
    void redraw(Generator& generator = default_generator());

    Tensor operator()(const Tensor& q, const Tensor& k, const Tensor& v,
                      const AttentionOptions& options) const override;
    std::string settings() const override;
};

// ---- Linformer ----------------------------------------------------------------------------------

/// softmax(q (E K)^T / sqrt(D)) F V: keys and values [S, D] are projected along the sequence to k
/// rows by the parameters E and F [k, length], which all heads share. Shorter sequences take the
/// first S columns.
///
/// Cost: O((T + S) k D) operations and O(T k) numbers kept. A summary mixes all positions, so there
/// is no causal form (ValueError). Masks: bool [B, 1, 1, S]; keys that are not seen count as zero
/// in every summary (other masks: ValueError). Dropout is of the [T, k] weights. Source: Wang et
/// al. 2020, "Linformer: Self-Attention with Linear Complexity", equation 7.
class LinformerAttention : public AttentionForm {
public:
    Tensor key_projection;    // E [k, length]
    Tensor value_projection;  // F [k, length]

    /// E and F start with variance 1 / k. Throws ValueError unless both sizes are positive.
    LinformerAttention(std::int64_t length, std::int64_t k,
                       Generator& generator = default_generator());

    /// Throws ValueError for more than `length` keys.
    Tensor operator()(const Tensor& q, const Tensor& k, const Tensor& v,
                      const AttentionOptions& options) const override;
    std::string settings() const override;
};

}  // namespace tapestry
