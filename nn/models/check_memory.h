// Whether a training would fit into memory: asked before it begins, for what the system then does
// to a program that takes too much is to kill it.
#pragma once

#include <tapestry/nn/models/gpt_config.h>

namespace tapestry {

/// Throws ValueError when training, by the estimate of training_bytes, would need more memory than
/// the system or the container has to give, saying how much it would need.
void check_memory(const GPTConfig& config, std::int64_t batch, std::int64_t gradient_sets = 1);

}  // namespace tapestry
