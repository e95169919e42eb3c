// What an entry of attention or of cross_entropy on a tape was asked for: for those who watch a
// tape and want to see the weights, which no memory holds, or the predictions behind a loss
// (nn/inspect). Not part of calling them, hence apart.
#pragma once

#include <tapestry/autograd/op.h>
#include <tapestry/ops/attention.h>
#include <tapestry/ops/loss.h>

#include <optional>

namespace tapestry {

/// Causality, scale and dropout of an entry that scaled_dot_product_attention recorded; nothing for
/// any other op. Its inputs are q, k, v and the mask, which may be undefined: with these,
/// attention_weights() gives the weights once more.
std::optional<AttentionOptions> recorded_attention(const Op& op);

/// The targets and options of a recorded cross_entropy().
struct RecordedCrossEntropy {
    Tensor targets;               ///< [...] i64, of logits [..., V], the entry's input
    CrossEntropyOptions options;  ///< as given to cross_entropy()
};

/// Of an entry that cross_entropy recorded and backward has not been through; nothing for any other
/// op. Without fusion (ops/fusion.h) the loss is many entries, none of them this one.
std::optional<RecordedCrossEntropy> recorded_cross_entropy(const Op& op);

}  // namespace tapestry
