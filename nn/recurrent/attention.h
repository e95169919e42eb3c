// Attention for recurrent networks: Bahdanau's (additive), the first, where a small network scores
// how well each key fits the query; and Luong's in its simplest form, where the score is their dot
// product. Read next: nn/models/seq2seq.h, which uses them.
#pragma once

#include <tapestry/nn/layers/linear.h>

namespace tapestry {

/// The sizes of an AdditiveAttention.
struct AdditiveAttentionConfig {
    std::int64_t query = 0;   ///< Q
    std::int64_t key = 0;     ///< K
    std::int64_t hidden = 0;  ///< A, size of the space where query and key are added
};

/// What to attend to. Computed once and used for every step of a decoder, which need not project
/// the keys each time.
struct AdditiveMemory {
    Tensor projected;  ///< [B, S, A]: W_k k
    Tensor values;     ///< [B, S, V]
    Tensor mask = {};  ///< bool, true where a query may attend; broadcasts to [B, T, S]
};

/// scores [B, T, S] = v^T tanh(W_q q + W_k k),   weights = softmax(scores) over S,
/// context [B, T, V] = weights values,
/// for queries [B, T, Q], keys [B, S, K] and values [B, S, V]. A query that may attend to nothing
/// gets zeros. Time and memory grow with B T S A, because every query meets every key in a tanh;
/// the dot product (DotAttention) is one matrix product.
/// Source: Bahdanau et al. 2014, "Neural Machine Translation by Jointly Learning to Align and
/// Translate", section 3.1 and appendix A.1.2.
class AdditiveAttention : public Module {
public:
    Linear query;  ///< W_q [A, Q], no bias
    Linear key;    ///< W_k [A, K], no bias
    Linear score;  ///< v^T [1, A], no bias

    /// Throws ValueError unless all sizes are positive.
    explicit AdditiveAttention(const AdditiveAttentionConfig& config,
                               Generator& generator = default_generator());

    /// Prepares keys and values (the keys themselves if undefined) for attention. Throws
    /// ShapeError.
    AdditiveMemory remember(const Tensor& keys, const Tensor& values = {},
                            const Tensor& mask = {}) const;

    /// Returns the context [B, T, V]. `weights`, if not null, receives [B, T, S], a constant.
    /// Throws ShapeError; DTypeError for a mask that is not bool.
    Tensor operator()(const Tensor& queries, const AdditiveMemory& memory,
                      Tensor* weights = nullptr) const;

    std::string settings() const override;
};

/// weights [B, T, S] = softmax(q k^T),   context [B, T, V] = weights values,
/// for queries [B, T, H], keys [B, S, H] and values [B, S, V]: no parameters, and no scale, which
/// Vaswani et al. (ops/attention.h) added two years later. `mask` and errors as there; `weights`,
/// if not null, receives [B, T, S], a constant.
/// Source: Luong et al. 2015, "Effective Approaches to Attention-based Neural Machine Translation",
/// section 3.1 ("dot").
class DotAttention : public Module {
public:
    DotAttention() : Module("DotAttention") {}

    /// Returns the context [B, T, V].
    Tensor operator()(const Tensor& queries, const Tensor& keys, const Tensor& values,
                      const Tensor& mask = {}, Tensor* weights = nullptr) const;
};

}  // namespace tapestry
