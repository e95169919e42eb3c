// Sparse attention: to nearby positions (a sliding window), or also to every n-th position
// (strided). Read next: attention_form.h, the interface.
#pragma once

#include <tapestry/nn/attention/attention_form.h>

namespace tapestry {

/// softmax attention in which position i sees positions j with |i - j| <= window, or if causal 0 <=
/// i - j <= window. Positions further away are reached through layers: n layers pass information
/// over n window positions.
///
/// Cost: O(T w D) operations; keeps O(T w) numbers, for T positions and w = max(window, 32). The
/// sequence is cut into blocks of w; each attends to itself and the block before (and after), so
/// nothing of size T x T is ever formed.
///
/// Masks: bool [B, 1, 1, S], the same for all queries (else ValueError); dropout and scale as in
/// softmax attention. Fewer queries than keys only if causal; they are then the last positions.
/// Source: Beltagy et al. 2020, "Longformer: The Long-Document Transformer", section 3.1.
class SlidingWindowAttention : public AttentionForm {
public:
    /// Throws ValueError if window is negative.
    explicit SlidingWindowAttention(std::int64_t window);

    Tensor operator()(const Tensor& q, const Tensor& k, const Tensor& v,
                      const AttentionOptions& options) const override;
    std::string settings() const override;

private:
    std::int64_t window_;
};

/// softmax attention in which position i sees positions j with |i - j| < stride, and those a
/// multiple of stride away; if causal, only j <= i. With the sequence written in rows of `stride`,
/// these are i's neighbours along the row and its column, so any position is two steps from any
/// other.
///
/// Cost: O(T (stride + T / stride) D) operations; keeps as many numbers divided by D. With a stride
/// near sqrt(T): O(T sqrt T).
///
/// Masks: bool [B, 1, 1, S], the same for all queries (else ValueError); dropout and scale as in
/// softmax attention. Fewer queries than keys only if causal; they are then the last positions.
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
