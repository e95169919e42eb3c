// What processes that train one model tell one another besides gradients, so that all of them have
// the same state: what a checkpoint holds, at the beginning, and the running statistics of each
// step. Internal to nn.
#pragma once

#include <tapestry/nn/distributed/communicator.h>
#include <tapestry/nn/io/checkpoint.h>
#include <tapestry/nn/layers/running_statistics.h>

#include <cstdint>
#include <vector>

namespace tapestry {

// ---- at the beginning ---------------------------------------------------------------------------

// What a checkpoint holds, sent instead of saved: every process stands where process 0 does.

/// Module, optimiser and generators become process 0's. All have the same module and optimiser, of
/// the same settings. Returns process 0's step.
std::int64_t broadcast_state(Communicator& communicator, const Checkpoint& state);

// ---- running statistics -------------------------------------------------------------------------

// The running statistics of a step whose micro-batches are computed here and there: batch norm's
// move once for each, in the order of the step's leaves, whoever has computed which. Each process
// tells all others what its leaves would have moved, and all make all moves: as many as one process
// would have made, in its order, so that their bits are its bits. Read next:
// nn/layers/running_statistics.h, one move.

/// What one leaf moves, in the order of its forward pass.
using LeafMoves = std::vector<StatisticsMove>;

/// All of one process.
void fold_statistics(const std::vector<LeafMoves>& leaves);

/// Which statistics a leaf moves, as a number that differs, but for an accident of one in 2^52,
/// where modules, their order, or sizes do. 0: none.
double kind_of(const LeafMoves& moves);

/// Those of all processes, this one's share of `count` leaves among them. All leaves are of one
/// kind, and move something. All processes call it. Throws LostProcessError.
void fold_statistics(Communicator& communicator, std::int64_t count,
                     const std::vector<LeafMoves>& own);

}  // namespace tapestry
