// What a checkpoint holds, sent instead of saved: every process stands where process 0 does.
// Internal to nn.
#pragma once

#include <tapestry/nn/distributed/communicator.h>
#include <tapestry/nn/io/checkpoint.h>

namespace tapestry {

/// Module, optimiser and generators become process 0's. All have the same module and optimiser, of
/// the same settings. Returns process 0's step.
std::int64_t broadcast_state(Communicator& communicator, const Checkpoint& state);

}  // namespace tapestry
