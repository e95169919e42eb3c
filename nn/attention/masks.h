// Attention masks: true where a query may attend to a key.
#pragma once

#include <tapestry/core/tensor.h>

namespace tapestry {

/// bool [T, S]: query i sees keys up to i + S - T, aligned at the end as AttentionOptions::causal,
/// which costs nothing and should be preferred; use this mask to combine it with others.
Tensor causal_mask(std::int64_t queries, std::int64_t keys);

/// bool [T, S]: query i sees the last `window` keys up to i + S - T, and those after it.
Tensor window_mask(std::int64_t queries, std::int64_t keys, std::int64_t window);

/// ids i64 [B, S] -> bool [B, 1, 1, S]: false where the id is `padding_id`.
Tensor padding_mask(const Tensor& ids, std::int64_t padding_id);

/// lengths i64 [B] -> bool [B, 1, 1, S]: sequence b sees its first lengths[b] keys. Throws
/// ValueError, naming the position, for a length outside [0, S].
Tensor length_mask(const Tensor& lengths, std::int64_t keys);

/// Combines a mask, which may be undefined, with `bias`, f32 or f64, which broadcasts with it, into
/// one tensor to add to scores: -inf where a bool mask is false; the sum with a numeric mask.
Tensor added_mask(const Tensor& mask, const Tensor& bias);

}  // namespace tapestry
