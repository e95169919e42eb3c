// TurnMemory: from where the blocks of a turn come. Internal to core: storage.cpp asks it for every
// block, and tells it of every one that is let go; planned_memory.h is what others see.
//
// Two turns that ask for the same blocks are watched (TurnRecord), then a plan is made of how long
// these lived. From then on a turn's blocks lie in one Arena, as long as they are the same in
// number and size; the first that is not is the allocator's, with all that follow in that turn.
#pragma once

#include <tapestry/core/planned_memory.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tapestry::detail {

/// What a turn asks for, in this order; a life of no moments has no place in the plan.
using TurnBlocks = std::vector<BlockLife>;

/// One piece of memory in which the blocks of a turn have their places.
///
/// A block is known by its number: the how manyth it is that a turn asks for. A place is given away
/// only while it is empty, so that a plan that no longer fits costs memory and never a number: who
/// comes too early, for a block that lives longer than it did when the plan was made, gets none.
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

/// What a turn asked for and how long it kept it: the blocks of this turn and of the one before.
/// Time is counted in blocks asked for: what is let go before the next is asked for lived for one
/// moment.
class TurnRecord {
public:
    void asked(std::size_t bytes, const std::byte* block);
    void let_go(const std::byte* block);

    /// A turn has ended. If it asked for what the one before did: that, with the lives of the one
    /// before, which may reach into this one. A block that lives for longer than a whole turn, or
    /// is there yet, has none.
    std::optional<TurnBlocks> end_turn();

private:
    struct Place {
        std::uint64_t turn;
        std::size_t number;
    };

    TurnBlocks now_, before_;  // length 0: not let go
    std::uint64_t turn_ = 0;
    std::unordered_map<const std::byte*, Place> alive_;
};

class TurnMemory {
public:
    TurnMemory();
    ~TurnMemory();
    TurnMemory(const TurnMemory&) = delete;
    TurnMemory& operator=(const TurnMemory&) = delete;

    void begin_turn();
    PlannedMemory::Report report() const;

    // With lock_blocks():
    std::byte* take(std::size_t bytes);  ///< null: from the allocator
    void took(std::size_t bytes, const std::byte* block) noexcept;
    void let_go(const std::byte* block);

private:
    std::optional<TurnBlocks> end_turn();
    void give_up(std::size_t blocks);
    void note_left(std::string why);

    TurnRecord record_;             // while there is no arena
    std::shared_ptr<Arena> arena_;  // shared with the allocator
    std::size_t next_ = 0;          // number of the block that is asked for next
    bool is_aside_ = false;         // for the rest of this turn
    bool gave_up_ = false;
    int aside_in_a_row_ = 0;
    std::int64_t turns_with_plan_ = 0;
    bool settled_ = false;  // the first of these has just ended
    std::int64_t turns_ = 0;
    PlannedMemory::Report report_;
};

/// Of this thread now, or null.
TurnMemory*& current_turn_memory();

/// What this thread asks for in this scope is another turn's, or no turn's.
class TurnScope {
public:
    explicit TurnScope(TurnMemory* memory) : outer_(std::exchange(current_turn_memory(), memory)) {}
    ~TurnScope() { current_turn_memory() = outer_; }
    TurnScope(const TurnScope&) = delete;
    TurnScope& operator=(const TurnScope&) = delete;

private:
    TurnMemory* outer_;
};

// In storage.cpp. Nobody gets a block, nor lets one go, while somebody has the lock.
std::unique_lock<std::mutex> lock_blocks();
void watch_blocks(TurnMemory& memory);
void unwatch_blocks(TurnMemory& memory);
/// It stays until it is empty and nobody else has it.
void keep_arena(std::shared_ptr<Arena> arena);
/// Those that nobody has any more, if they are empty.
void let_go_arenas();

}  // namespace tapestry::detail
