// Arena: one piece of memory in which the blocks of a turn have their places. Internal to core.
//
// A block is known by its number: the how manyth it is that a turn asks for. A place is given away
// only while it is empty, so that a plan that no longer fits costs memory and never a number: who
// comes too early, for a block that lives longer than it did when the plan was made, gets none.
// Read next: turn_memory.h.
#pragma once

#include <tapestry/core/memory_plan.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tapestry::detail {

/// What a turn asks for, in this order; a life of no moments has no place in the plan.
using TurnBlocks = std::vector<BlockLife>;

class Arena {
public:
    explicit Arena(const TurnBlocks& blocks);
    ~Arena();
    Arena(const Arena&) = delete;
    Arena& operator=(const Arena&) = delete;

    /// What block `number` was when the plan was made; 0: there was none.
    std::size_t bytes_of(std::size_t number) const {
        return number < blocks_.size() ? blocks_[number].bytes : 0;
    }
    /// Its place, or null: it has none, or that is not empty.
    std::byte* take(std::size_t number);

    bool holds(const std::byte* block) const {
        return block >= memory_ && block < memory_ + plan_.bytes;
    }
    /// The place at `block` is empty again.
    void give_back(const std::byte* block);

    const MemoryPlan& plan() const { return plan_; }
    std::size_t blocks() const { return blocks_.size(); }  ///< of a turn, with a place or without
    std::size_t places() const { return places_; }
    bool is_empty() const { return taken_ == 0; }

private:
    void find_starts();
    void find_neighbours();

    TurnBlocks blocks_;
    MemoryPlan plan_;  // by number; of those without a place nothing
    std::size_t places_ = 0;
    std::size_t taken_ = 0;
    std::byte* memory_ = nullptr;
    std::vector<std::size_t> starts_;                   // all offsets, sorted
    std::vector<std::size_t> who_;                      // who is there now, by start
    std::vector<bool> is_taken_;                        // by number
    std::vector<std::vector<std::uint32_t>> overlaps_;  // the numbers that would be in the way
};

}  // namespace tapestry::detail
