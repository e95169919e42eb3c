// PlannedMemory: memory for repeated work, such as training steps.
//
//     PlannedMemory memory;
//     for (;;) {
//         const PlannedMemory::Turn turn(memory);
//         step();                                  // any step, unchanged
//     }
//
// An allocator that cannot foresee requests keeps a block for every size that occurred. A step that
// recurs allocates the same blocks in the same order and frees them at the same moments, so after
// two steps it is known which blocks can share a place (MemoryPlan), and from then on all tensors
// of a turn are in one arena, little larger than the peak of the memory in use.
//
// A turn that allocates differently still works: from the first block that differs the allocator
// serves it, and a place is only reused when it is empty. Results never depend on any of this. The
// arena lives as long as any block in it: holding one gradient keeps all of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tapestry {

// ---- the plan -----------------------------------------------------------------------------------
// Blocks that are not needed at the same time can share a place: the plan is an offset for each of
// them in one arena.
//
// The allocations of a training step recur in the next one, so time is a circle here: a gradient
// that is made at the end of a step and freed at the beginning of the next one lives across its
// seam. Finding the smallest arena is NP-hard (dynamic storage allocation: Garey and Johnson 1979,
// SR2); placing large blocks first, each in the lowest gap that holds it, is what compilers do, and
// comes close to the lower bound of any order; closer still if the block that overflowed is placed
// first on the next attempt.

/// A block, and the `length` moments at which it is needed: from, from + 1, ..., modulo the cycle.
struct BlockLife {
    std::size_t bytes = 0;   ///< size of the block
    std::size_t from = 0;    ///< first moment at which it is needed
    std::size_t length = 1;  ///< number of moments, from 1 to the length of the cycle
};

/// A place in one arena for every block.
struct MemoryPlan {
    std::vector<std::size_t> offsets;  ///< per block, a multiple of 64
    std::size_t bytes = 0;             ///< size of the arena that holds all blocks
    std::size_t least = 0;             ///< the greatest sum needed at one moment: a lower bound
};

/// Sizes are rounded up to a multiple of 64, and to at least 64. Throws ValueError for a life
/// outside the moments of the cycle, or of no moment or more moments than the cycle.
MemoryPlan plan_memory(const std::vector<BlockLife>& lives, std::size_t cycle);

/// The size that a block counts for: whole cache lines.
std::size_t planned_bytes(std::size_t bytes);

// ---- the memory ---------------------------------------------------------------------------------

namespace detail {
class TurnMemory;
}

/// Memory for repeated work of one thread, such as training steps.
class PlannedMemory {
public:
    PlannedMemory();
    ~PlannedMemory();
    PlannedMemory(const PlannedMemory&) = delete;
    PlannedMemory& operator=(const PlannedMemory&) = delete;

    /// Memory that this thread allocates while this is alive belongs to the turn, except in the
    /// chunks of parallel loops, whose order differs every time. A turn ends when the next begins:
    /// blocks freed in between belong to it.
    class Turn {
    public:
        explicit Turn(PlannedMemory& memory);  ///< must outlive the Turn
        ~Turn();
        Turn(const Turn&) = delete;
        Turn& operator=(const Turn&) = delete;

    private:
        detail::TurnMemory* outer_;
    };

    /// The plan, and how often turns kept to it.
    struct Report {
        std::size_t blocks = 0;     ///< per turn, as planned; 0: no plan yet
        std::size_t places = 0;     ///< of these, in the plan: the others live on from turn to turn
        std::size_t bytes = 0;      ///< size of the arena
        std::size_t least = 0;      ///< the greatest sum of blocks needed at one moment
        std::int64_t followed = 0;  ///< turns that allocated as planned, to the end
        std::int64_t left = 0;      ///< turns that did not
        std::string why_left = {};  ///< reason of the first of these
    };
    /// The state after the turns so far; a turn counts as soon as its Turn is destroyed.
    Report report() const;

private:
    std::unique_ptr<detail::TurnMemory> memory_;
};

/// "plan: the 110 blocks of a step in 2.52 MB, at most 2.52 MB in use at once; 996 steps followed
/// it\n", and why the first step that left it did; or why there is no plan.
std::string plan_text(const PlannedMemory::Report& report);

/// Whether a TrainStep plans its memory: TAPESTRY_PLAN=1, or set_planning(true). Throws ValueError
/// for a TAPESTRY_PLAN that is neither 0 nor 1.
bool planning_enabled();

/// For all threads; affects only objects created afterwards.
void set_planning(bool enabled);

}  // namespace tapestry
