#include <tapestry/core/turn_memory.h>

#include <tapestry/core/error.h>
#include <tapestry/core/storage.h>

#include <new>
#include <utility>

namespace tapestry::detail {
namespace {

constexpr int kPatience = 3;  // turns in a row that leave a plan, before there is to be another
constexpr std::size_t kMostBlocks = 8192;  // a plan looks at every two of them

}  // namespace

TurnMemory*& current_turn_memory() {
    static thread_local TurnMemory* current = nullptr;
    return current;
}

TurnMemory::TurnMemory() {
    const auto lock = lock_blocks();
    watch_blocks(*this);
}

TurnMemory::~TurnMemory() {
    const auto lock = lock_blocks();
    arena_ = nullptr;
    unwatch_blocks(*this);
}

// With the lock. What is to be planned, if anything.
std::optional<TurnBlocks> TurnMemory::end_turn() {
    const std::size_t asked = std::exchange(next_, 0);
    const bool left = std::exchange(is_aside_, false);
    if (turns_++ == 0 || gave_up_) return std::nullopt;
    if (arena_ == nullptr) return record_.end_turn();
    settled_ = turns_with_plan_++ == 0;
    if (!left && asked == arena_->blocks()) {
        ++report_.followed;
        aside_in_a_row_ = 0;
        return std::nullopt;
    }
    if (!left) {
        note_left(fmt::format("turn {} ended after {} blocks; {} were planned", turns_ - 1, asked,
                              arena_->blocks()));
    }
    ++report_.left;
    if (++aside_in_a_row_ == kPatience) {
        arena_ = nullptr;
        let_go_arenas();
        report_.blocks = 0;
        record_ = {};
        aside_in_a_row_ = 0;
    }
    return std::nullopt;
}

namespace {

// Null where there is no memory for it, or nothing that it would hold.
std::shared_ptr<Arena> arena_of(const TurnBlocks& blocks) {
    if (blocks.size() > kMostBlocks) return nullptr;
    try {
        auto arena = std::make_shared<Arena>(blocks);
        return arena->places() > 0 ? arena : nullptr;
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}

}  // namespace

void TurnMemory::begin_turn() {
    std::optional<TurnBlocks> blocks;
    bool settled = false;
    {
        const auto lock = lock_blocks();
        blocks = end_turn();
        settled = std::exchange(settled_, false);
    }
    // Before a plan the blocks of turns that had none go, after its first turn what was left.
    if (blocks || settled) release_cached_memory();
    if (!blocks) return;
    std::shared_ptr<Arena> arena = arena_of(*blocks);
    const auto lock = lock_blocks();
    if (arena == nullptr) return give_up(blocks->size());
    arena_ = std::move(arena);
    keep_arena(arena_);
    record_ = {};
    turns_with_plan_ = 0;
    report_.blocks = arena_->blocks();
    report_.places = arena_->places();
    report_.bytes = arena_->plan().bytes;
    report_.least = arena_->plan().least;
}

// With the lock. It would end the same way after every turn.
void TurnMemory::give_up(std::size_t blocks) {
    gave_up_ = true;
    record_ = {};
    note_left(fmt::format("a turn of {} blocks, for which there is no plan", blocks));
}

PlannedMemory::Report TurnMemory::report() const {
    const auto lock = lock_blocks();
    return report_;
}

void TurnMemory::note_left(std::string why) {
    if (report_.why_left.empty()) report_.why_left = std::move(why);
}

std::byte* TurnMemory::take(std::size_t bytes) {
    if (arena_ == nullptr || is_aside_) return nullptr;
    const std::size_t number = next_++;
    if (number >= arena_->blocks() || arena_->bytes_of(number) != bytes) {
        is_aside_ = true;
        note_left(fmt::format("turn {} asked for {} bytes as block {}; {} were planned", turns_,
                              bytes, number + 1, arena_->bytes_of(number)));
        return nullptr;
    }
    return arena_->take(number);
}

void TurnMemory::took(std::size_t bytes, const std::byte* block) noexcept {
    if (arena_ != nullptr || gave_up_) return;
    try {
        record_.asked(bytes, block);
    } catch (const std::bad_alloc&) {  // the block is there, its turn will not be like another
        record_ = {};
    }
}

void TurnMemory::let_go(const std::byte* block) {
    if (arena_ == nullptr) record_.let_go(block);
}

}  // namespace tapestry::detail
