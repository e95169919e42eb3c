// Attention to what is near, and to every n-th position before.
#pragma once

#include <tapestry/nn/attention/form.h>

namespace tapestry {

/// softmax attention in which position i sees positions j with |i - j| < stride, and those a
/// multiple of stride away; if causal, only j <= i. Written in rows of `stride`, that is the row
/// and the column of i: any position is two steps from any other.
///
/// Cost: O(T (stride + T / stride) D) operations, and as many numbers kept over D: with a stride
/// near sqrt(T), O(T sqrt T).
///
/// Masks: bool [B, 1, 1, S], the same for all queries (else ValueError); dropout and scale as in
/// softmax attention. Fewer queries than keys: only if causal, they are the last ones.
/// Source: Child et al. 2019, "Generating Long Sequences with Sparse Transformers", section 4.2
/// (strided attention; both patterns in one softmax).
class StridedAttention : public AttentionForm {
public:
    /// Throws ValueError unless stride is positive.
    explicit StridedAttention(std::int64_t stride);

    Tensor operator()(const Tensor& q, const Tensor& k, const Tensor& v,
                      const AttentionOptions& options) const override;
    std::string settings() const override;

private:
    std::int64_t stride_;
};

}  // namespace tapestry
