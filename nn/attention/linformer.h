// Attention to k summaries of the sequence instead of its T positions.
#pragma once

#include <tapestry/core/random.h>
#include <tapestry/nn/attention/form.h>

namespace tapestry {

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
