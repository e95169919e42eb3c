// Attention whose cost is linear in the sequence length. Without softmax: if the weight of a pair
// is a product of features, the sum over keys can be computed before the queries (LinearAttention;
// PerformerAttention, whose random features estimate the softmax). Or with softmax over k summaries
// of the sequence instead of its T positions (LinformerAttention). Read next: attention_form.h.
#pragma once

#include <tapestry/core/random.h>
#include <tapestry/nn/attention/attention_form.h>

namespace tapestry {

/// y_i = sum_j (a_i . b_j) v_j / sum_j (a_i . b_j), over all j, or j <= i + S - T if causal, for
/// non-negative features a [B, H, T, F] of queries and b [B, H, S, F] of keys, and v [B, H, S, E].
/// Rows whose denominator is 0 are 0.
///
/// Cost: O((T + S) F E) operations. If causal, the sum over j runs along the sequence in chunks of
/// c = max(32, F): pairs are formed within a chunk, and everything before it is one matrix [F, E],
/// the sum of b_j v_j^T so far. Keeps O(T (c + F E / c)) numbers.
Tensor linear_attention(const Tensor& a, const Tensor& b, const Tensor& v, bool causal);

/// linear_attention of phi(q) and phi(k), phi(x) = elu(x) + 1 = x + 1 where x > 0, else e^x. Cost:
/// O((T + S) D E) operations; keeps O(T (D + E)) numbers. It summarises a sequence in a matrix [D,
/// E], so it cannot distinguish more than about D keys.
///
/// Masks: bool [B, 1, 1, S] (others: ValueError). There are no scores and no weights, so a scale or
/// dropout throws ValueError. Source: Katharopoulos et al. 2020, "Transformers are RNNs", equations
/// 5 and 7.
class LinearAttention : public AttentionForm {
public:
    LinearAttention() : AttentionForm("LinearAttention") {}

    Tensor operator()(const Tensor& q, const Tensor& k, const Tensor& v,
                      const AttentionOptions& options) const override;
};

// ---- Performer ----------------------------------------------------------------------------------

// Softmax attention estimated by random features, whose products have the mean e^(q.k).

/// phi(x) = exp(W x - |x|^2 / 2) / sqrt(m) for x [..., D] and W [m, D]: [..., m]. With rows of W
/// drawn from N(0, 1), E[phi(x) . phi(y)] = e^(x.y). Overflows for large x, as e^(x.y) does.
Tensor positive_features(const Tensor& x, const Tensor& projection);

/// [m, D]: rows distributed as N(0, 1), but orthogonal to one another within every D consecutive
/// rows, which reduces the variance of estimates.
Tensor orthogonal_gaussian(std::int64_t m, std::int64_t dim, Generator& generator,
                           DType dtype = DType::f32);

/// linear_attention of phi(sqrt(scale) q) and phi(sqrt(scale) k), whose products are unbiased
/// estimates of softmax attention's e^(scale q.k); the error of a weight falls as 1 / sqrt(m) and
/// grows with e^(|q + k|^2), so sharp attention needs many features.
///
/// Cost: O((T + S) m (D + E)) operations; keeps O(T (m + E)) numbers. Masks: bool [B, 1, 1, S]
/// (others: ValueError). There are no weights, so dropout throws ValueError. The projection W [m,
/// D] is a buffer, saved with the model. Source: Choromanski et al. 2020, "Rethinking Attention
/// with Performers" (FAVOR+), lemma 1 and section 2.4.
class PerformerAttention : public AttentionForm {
public:
    Tensor projection;  ///< W [m, D]

    /// For heads of size D = `head_dim`, with m = `features`. Throws ValueError unless both are
    /// positive.
    PerformerAttention(std::int64_t head_dim, std::int64_t features,
                       Generator& generator = default_generator());

    /// Draws new features; call it occasionally in training to keep the model from fitting one
    /// draw.
    void redraw(Generator& generator = default_generator());

    Tensor operator()(const Tensor& q, const Tensor& k, const Tensor& v,
                      const AttentionOptions& options) const override;
    std::string settings() const override;
};

// ---- Linformer ----------------------------------------------------------------------------------

/// softmax(q (E K)^T / sqrt(D)) F V: the parameters E and F [k, length], shared by all heads,
/// project keys and values [S, D] along the sequence to k rows. Shorter sequences use the first S
/// columns.
///
/// Cost: O((T + S) k D) operations; keeps O(T k) numbers. A summary mixes all positions, so there
/// is no causal form (ValueError). Masks: bool [B, 1, 1, S]; masked keys count as zero in every
/// summary (other masks: ValueError). Dropout applies to the [T, k] weights. Source: Wang et al.
/// 2020, "Linformer: Self-Attention with Linear Complexity", equation 7.
class LinformerAttention : public AttentionForm {
public:
    Tensor key_projection;    ///< E [k, length]
    Tensor value_projection;  ///< F [k, length]

    /// E and F have initial variance 1 / k. Throws ValueError unless both sizes are positive.
    LinformerAttention(std::int64_t length, std::int64_t k,
                       Generator& generator = default_generator());

    /// Throws ValueError for more than `length` keys.
    Tensor operator()(const Tensor& q, const Tensor& k, const Tensor& v,
                      const AttentionOptions& options) const override;
    std::string settings() const override;
};

}  // namespace tapestry
