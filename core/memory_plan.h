// Which blocks can lie in the same place, since they are not needed at the same time: offsets for
// all of them in one piece of memory.
//
// What a step of training asks for comes round again with the next, so time is a circle here: a
// gradient that is made at the end of a step and let go at the beginning of the next one lives
// across its seam. To find the smallest piece is NP-hard (dynamic storage allocation: Garey and
// Johnson 1979, SR2); large blocks first, each in the lowest gap that holds it, is what compilers
// do, and comes close to the least that any order could need; closer when whoever sticks out goes
// first the next time. Read next: planned_memory.h, which has a step's tensors lie there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tapestry {

/// A block, and the moments at which it is needed: from, from + 1, ... so many, modulo the cycle.
struct BlockLife {
    std::size_t bytes = 0;
    std::size_t from = 0;
    std::size_t length = 1;
};

struct MemoryPlan {
    std::vector<std::size_t> offsets;  ///< of each block, a multiple of 64
    std::size_t bytes = 0;             ///< of the piece that holds them all
    std::size_t least = 0;  ///< the greatest sum of blocks needed at one moment: no plan has less
};

/// Sizes count as the next multiple of 64, and as 64 at least. Throws ValueError for a life that
/// is outside of the cycle's moments, or of no moment or more than all.
MemoryPlan plan_memory(const std::vector<BlockLife>& lives, std::size_t cycle);

/// So much of a block counts: whole cache lines.
std::size_t planned_bytes(std::size_t bytes);

}  // namespace tapestry
