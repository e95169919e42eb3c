// What an entry of cross_entropy on a tape was asked: for those who watch a tape and want to see
// the predictions behind a loss (nn/inspect). Not part of calling the loss, hence apart.
#pragma once

#include <tapestry/autograd/op.h>
#include <tapestry/ops/loss.h>

#include <optional>

namespace tapestry {

struct RecordedCrossEntropy {
    Tensor targets;  ///< [...] i64, of logits [..., V], the entry's input
    CrossEntropyOptions options;
};

/// Of an entry that cross_entropy recorded and backward has not been through; nothing for any other
/// op. Without fusion (ops/fusion.h) the loss is many entries, none of them this one.
std::optional<RecordedCrossEntropy> recorded_cross_entropy(const Op& op);

}  // namespace tapestry
