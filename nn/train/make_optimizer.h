// The optimiser that a configuration asks for, for a session and for whoever takes its steps by
// hand.
#pragma once

#include <tapestry/nn/models/gpt.h>
#include <tapestry/nn/optim/optimizer.h>
#include <tapestry/nn/train/training_config.h>

#include <memory>

namespace tapestry {

/// Of the model's parameters that are not frozen, with the configuration's rates and decay.
std::unique_ptr<Optimizer> make_optimizer(const GPT& model, const TrainingConfig& config);

}  // namespace tapestry
