// Synchronises the processes that train one model, apart from gradients: the state that a
// checkpoint holds, at the beginning, and the running statistics of each step. Internal to nn.
#pragma once

#include <tapestry/nn/distributed/communicator.h>
#include <tapestry/nn/io/checkpoint.h>
#include <tapestry/nn/layers/running_statistics.h>

#include <cstdint>
#include <vector>

namespace tapestry {

// ---- at the beginning ---------------------------------------------------------------------------

// Broadcasts a checkpoint's contents instead of saving them: all processes start in process 0's
// state.

/// Copies process 0's module, optimiser and generators to all processes, which have the same
/// module, and an optimiser with the same settings. Returns process 0's step.
std::int64_t broadcast_state(Communicator& communicator, const Checkpoint& state);

// ---- running statistics -------------------------------------------------------------------------

// The running statistics of a step whose micro-batches are computed on several processes. Batch
// norm's statistics move once per leaf, in the order of the leaves, regardless of which process
// computed it. Each process sends what its leaves would have moved, and all apply all moves in the
// order of a single process, so the bits are the same. Read next: nn/layers/running_statistics.h,
// one move.

/// The moves of one leaf, in the order of its forward pass.
using LeafMoves = std::vector<StatisticsUpdate>;

/// Applies the moves of a single process.
void fold_statistics(const std::vector<LeafMoves>& leaves);

/// A number that identifies the statistics that a leaf moves; it differs (except for a collision,
/// with probability 2^-52) if modules, their order or sizes differ. 0: none.
double kind_of(const LeafMoves& moves);

/// Applies the moves of all processes; `own` are this process's share of `count` leaves. All leaves
/// are of one kind and move something. Call it on all processes. Throws LostProcessError.
void fold_statistics(Communicator& communicator, std::int64_t count,
                     const std::vector<LeafMoves>& own);

}  // namespace tapestry
