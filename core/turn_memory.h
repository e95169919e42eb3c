// TurnMemory: from where the blocks of a turn come. Internal to core: storage.cpp asks it for every
// block, and tells it of every one that is let go; planned_memory.h is what others see.
//
// Two turns that ask for the same blocks are watched, then a plan is made of how long these lived.
// From then on a turn's blocks lie in one arena, as long as they are the same in number and size;
// the first that is not is the allocator's, with all that follow in that turn.
#pragma once

#include <tapestry/core/planned_memory.h>
#include <tapestry/core/turn_record.h>

#include <memory>
#include <mutex>
#include <utility>

namespace tapestry::detail {

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
