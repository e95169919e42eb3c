// Where the blocks of an inspected step could lie if its memory were planned: who takes whose
// place, and how little memory would hold them all. For this nothing need have been planned: a plan
// is made of the lives that were traced (core/memory_plan.h), as `train --plan` makes one of those
// of two steps.
//
// Time is counted in events here, the entries recorded and walked, and a block counts as needed at
// both ends of its life; blocks that live only inside an operation were never seen. So `bytes` is
// near what a plan of the allocator's own needs, and not the same.
#pragma once

#include <tapestry/nn/inspect/memory_trace.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace tapestry {

struct MemoryLayout {
    /// Of each life, from the beginning of the piece; none for parameters and what was given, which
    /// are there before the step and after it.
    std::vector<std::optional<std::size_t>> offsets;
    std::size_t apart = 0;  ///< bytes, if each block had memory of its own
    std::size_t bytes = 0;  ///< of the piece
    std::size_t least = 0;  ///< the most in use at one event: no layout has less
};

/// Nothing has a place where there are more than 4096 blocks: a plan looks at every two of them.
MemoryLayout lay_out(const MemoryTrace& trace);

}  // namespace tapestry
