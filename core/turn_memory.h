// TurnMemory: the source of every block allocated during a turn. Internal to core: storage.cpp
// requests every block from it and reports every block freed; planned_memory.h is the public
// interface.
//
// Records two turns that allocate the same blocks (TurnRecord), then plans from the lifetimes of
// these blocks. From then on the blocks of a turn are placed in one Arena, as long as they match in
// number and size; the first that does not comes from the allocator, as do all later ones of that
// turn.
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

/// The blocks that a turn allocates, in order; a life of no moments has no place in the plan.
using TurnBlocks = std::vector<BlockLife>;

/// One piece of memory with a place for each block of a turn.
///
/// A block is identified by its number: its allocation index within the turn. A place is only
/// handed out while it is empty, so a plan that no longer fits costs memory but never changes a
/// number: a request that comes while an earlier block still occupies the place gets null.
class Arena {
public:
    explicit Arena(const TurnBlocks& blocks);
    ~Arena();
    Arena(const Arena&) = delete;
    Arena& operator=(const Arena&) = delete;

    /// The size of block `number` in the plan; 0: there was none.
    std::size_t bytes_of(std::size_t number) const {
        return number < blocks_.size() ? blocks_[number].bytes : 0;
    }
    /// Its place, or null if it has none or if that is still occupied.
    std::byte* take(std::size_t number);

    bool holds(const std::byte* block) const {
        return block >= memory_ && block < memory_ + plan_.bytes;
    }
    /// Marks the place at `block` as empty.
    void give_back(const std::byte* block);

    /// Returns the memory of empty places to the system until they are taken again.
    void return_empty_places() noexcept;

    const MemoryPlan& plan() const { return plan_; }
    std::size_t blocks() const { return blocks_.size(); }  ///< per turn, with or without a place
    std::size_t places() const { return places_; }
    bool is_empty() const { return taken_ == 0; }

private:
    void find_starts();
    std::size_t start_at(std::size_t offset) const;  ///< the first start from `offset` on
    bool is_free(std::size_t offset, std::size_t end) const;

    TurnBlocks blocks_;
    MemoryPlan plan_;  // by number; empty for blocks without a place
    std::size_t places_ = 0;
    std::size_t taken_ = 0;
    std::byte* memory_ = nullptr;
    std::vector<std::size_t> starts_;  // all offsets, sorted
    // Blocks that are taken never overlap, so a start and an end say all about one. A list of the
    // blocks that overlap each block took 27 MB for a step of 3,500 blocks.
    std::vector<std::uint64_t> taken_starts_;  // bits, by start
    std::vector<std::size_t> ends_;            // of the block taken last, by start
};

/// Records the allocations of this turn and of the one before, and how long the blocks lived. Time
/// is counted in allocations: a block freed before the next allocation lived for one moment.
class TurnRecord {
public:
    void asked(std::size_t bytes, const std::byte* block);
    void on_free(const std::byte* block);

    /// Ends a turn. If it made the same allocations as the one before, returns these with the
    /// lifetimes from the turn before, which may extend into this one. A block that outlives a
    /// whole turn, or is still alive, has length 0.
    std::optional<TurnBlocks> end_turn();

private:
    struct Place {
        std::uint64_t turn;
        std::size_t number;
    };

    TurnBlocks now_, before_;  // length 0: not freed
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
    void end_allocations();  ///< of this turn, which blocks freed until the next still belong to
    PlannedMemory::Report report() const;

    // With lock_blocks() held:
    bool may_plan() const { return !disabled_; }
    std::byte* take(std::size_t bytes);  ///< null: from the allocator
    void on_allocate(std::size_t bytes, const std::byte* block) noexcept;
    void on_free(const std::byte* block);

private:
    std::optional<TurnBlocks> end_turn();
    bool count_turn(PlannedMemory::Report& report) const;
    void give_up(std::size_t blocks);
    void note_left(std::string why);

    TurnRecord record_;             // while there is no arena
    std::shared_ptr<Arena> arena_;  // shared with the allocator
    std::size_t next_ = 0;          // number of the next block
    bool is_aside_ = false;         // until the end of this turn
    bool under_way_ = false;        // whether this turn may still allocate
    bool disabled_ = false;
    int aside_in_a_row_ = 0;
    std::int64_t turns_with_plan_ = 0;
    bool settled_ = false;  // the first of these has just ended
    std::int64_t turns_ = 0;
    PlannedMemory::Report report_;
};

/// The calling thread's current TurnMemory, or null.
TurnMemory*& current_turn_memory();

/// Redirects the allocations of this thread in this scope to another turn, or to none.
class TurnScope {
public:
    explicit TurnScope(TurnMemory* memory) : outer_(std::exchange(current_turn_memory(), memory)) {}
    ~TurnScope() { current_turn_memory() = outer_; }
    TurnScope(const TurnScope&) = delete;
    TurnScope& operator=(const TurnScope&) = delete;

private:
    TurnMemory* outer_;
};

// Defined in storage.cpp. No block is allocated or freed while the lock is held.
std::unique_lock<std::mutex> lock_blocks();
void watch_blocks(TurnMemory& memory);
void unwatch_blocks(TurnMemory& memory);
/// Keeps the arena until it is empty and not referenced elsewhere.
void keep_arena(std::shared_ptr<Arena> arena);
/// Releases the arenas that are empty and no longer referenced.
void release_arenas();
/// release_cached_memory() but for arenas, which the next turn uses.
void release_cached_blocks();

}  // namespace tapestry::detail
