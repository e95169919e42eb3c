// PlannedMemory: memory for what is done again and again, as a step of training is.
//
//     PlannedMemory memory;
//     for (;;) {
//         const PlannedMemory::Turn turn(memory);
//         step();                                  // any step: nothing in it knows of this
//     }
//
// An allocator that knows nothing of what comes keeps a block for every size that there was. A step
// that comes again asks for the same blocks in the same order and lets them go at the same moments,
// so after two of them it is known who can lie in whose place (MemoryPlan), and from then on all
// of a turn's tensors lie in one piece, little larger than the most that is needed at one moment.
//
// A turn that asks for others is none the worse: from the first block that differs the allocator
// serves it, and a place is given away only when it is empty. Numbers never depend on any of this.
// The piece stays as long as a block in it: who keeps a gradient keeps it whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tapestry {

// ---- the plan -----------------------------------------------------------------------------------
// Which blocks can lie in the same place, since they are not needed at the same time: offsets for
// all of them in one piece of memory.
//
// What a step of training asks for comes round again with the next, so time is a circle here: a
// gradient that is made at the end of a step and let go at the beginning of the next one lives
// across its seam. To find the smallest piece is NP-hard (dynamic storage allocation: Garey and
// Johnson 1979, SR2); large blocks first, each in the lowest gap that holds it, is what compilers
// do, and comes close to the least that any order could need; closer when whoever sticks out goes
// first the next time.

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

// ---- the memory ---------------------------------------------------------------------------------

namespace detail {
class TurnMemory;
}

class PlannedMemory {
public:
    PlannedMemory();
    ~PlannedMemory();
    PlannedMemory(const PlannedMemory&) = delete;
    PlannedMemory& operator=(const PlannedMemory&) = delete;

    /// What this thread asks for while it is alive is a turn's, but for the chunks of parallel
    /// loops, whose order is another every time. A turn ends when the next begins: what is let go
    /// in between belongs to it.
    class Turn {
    public:
        explicit Turn(PlannedMemory& memory);  ///< which outlives it
        ~Turn();
        Turn(const Turn&) = delete;
        Turn& operator=(const Turn&) = delete;

    private:
        detail::TurnMemory* outer_;
    };

    struct Report {
        std::size_t blocks = 0;     ///< of a turn, as planned; 0: there is no plan yet
        std::size_t places = 0;     ///< of these in the plan: the others live on from turn to turn
        std::size_t bytes = 0;      ///< of the piece
        std::size_t least = 0;      ///< the greatest sum of what is needed at one moment
        std::int64_t followed = 0;  ///< turns that asked for what was planned, to the end
        std::int64_t left = 0;      ///< turns that did not
        std::string why_left = {};  ///< of the first of these
    };
    Report report() const;

private:
    std::unique_ptr<detail::TurnMemory> memory_;
};

/// "plan: the 110 blocks of a step in 2.52 MB, 2.52 MB being needed at once; 996 steps followed
/// it\n", and why the first that did not did not; or why there is none.
std::string plan_text(const PlannedMemory::Report& report);

/// TAPESTRY_PLAN=1, or set_planning(true): a TrainStep plans its memory. Throws ValueError for a
/// TAPESTRY_PLAN that is neither 0 nor 1.
bool planning_enabled();

/// For all threads, and for what is made from now on.
void set_planning(bool enabled);

}  // namespace tapestry
