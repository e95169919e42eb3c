// What an entry of attention on a tape was asked for: for those who watch a tape and want to see
// the weights, which no memory holds (nn/inspect). Not part of calling attention, hence apart.
#pragma once

#include <tapestry/ops/attention.h>

namespace tapestry {

/// Causality, scale and dropout of an entry that scaled_dot_product_attention recorded; nothing for
/// any other op. Its inputs are q, k, v and the mask, which may be undefined: with these,
/// attention_weights() gives the weights once more.
std::optional<AttentionOptions> recorded_attention(const Op& op);

}  // namespace tapestry
