// Options of recorded attention and cross_entropy calls, for tape observers (nn/inspect) that show
// the attention weights, which are not stored, or the predictions behind a loss.
#pragma once

#include <tapestry/autograd/op.h>
#include <tapestry/ops/attention.h>
#include <tapestry/ops/loss.h>

#include <optional>

namespace tapestry {

/// Causality, scale and dropout of an entry recorded by scaled_dot_product_attention; empty for any
/// other op. The entry's inputs are q, k, v and the mask, which may be undefined;
/// attention_weights() recomputes the weights from these.
std::optional<AttentionOptions> recorded_attention(const Op& op);

/// The targets and options of a recorded cross_entropy().
struct RecordedCrossEntropy {
    Tensor targets;               ///< [...] i64; the entry's input is logits [..., V]
    CrossEntropyOptions options;  ///< as given to cross_entropy()
};

/// Targets and options of an entry recorded by cross_entropy that backward has not yet consumed;
/// empty for any other op. Without fusion (ops/fusion.h) the loss is composed of other entries, so
/// the result is empty.
std::optional<RecordedCrossEntropy> recorded_cross_entropy(const Op& op);

/// While one lives, losses of this thread's models are computed from whole logits, as a
/// cross_entropy entry that shows them, however large they are (LanguageModel::loss).
class WholeLogits {
public:
    WholeLogits();
    ~WholeLogits();
    WholeLogits(const WholeLogits&) = delete;
    WholeLogits& operator=(const WholeLogits&) = delete;

    /// Whether one lives on this thread.
    static bool are_wanted();
};

}  // namespace tapestry
