#include <tapestry/core/turn_memory.h>

#include <tapestry/core/error.h>
#include <tapestry/core/huge_pages.h>
#include <tapestry/core/storage.h>
#include <tapestry/core/text/message.h>

#include <algorithm>
#include <bit>
#include <new>
#include <utility>

namespace tapestry::detail {
namespace {

constexpr std::align_val_t kArenaAlignment{64};

MemoryPlan plan_of(const TurnBlocks& blocks) {
    TurnBlocks lives;
    for (const BlockLife& block : blocks) {
        if (block.length > 0) lives.push_back(block);
    }
    MemoryPlan plan = plan_memory(lives, blocks.size());
    std::vector<std::size_t> offsets(blocks.size(), 0);  // by number
    std::size_t next = 0;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        if (blocks[i].length > 0) offsets[i] = plan.offsets[next++];
    }
    plan.offsets = std::move(offsets);
    return plan;
}

constexpr std::size_t kWord = 64;  // bits

}  // namespace

Arena::Arena(const TurnBlocks& blocks) : blocks_(blocks), plan_(plan_of(blocks)) {
    find_starts();
    memory_ = static_cast<std::byte*>(::operator new(plan_.bytes, kArenaAlignment));
    ask_for_huge_pages(memory_, plan_.bytes);
}

Arena::~Arena() { ::operator delete(memory_, kArenaAlignment); }

void Arena::find_starts() {
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
        if (blocks_[i].length == 0) continue;
        ++places_;
        starts_.push_back(plan_.offsets[i]);
    }
    std::sort(starts_.begin(), starts_.end());
    starts_.erase(std::unique(starts_.begin(), starts_.end()), starts_.end());
    taken_starts_.resize(starts_.size() / kWord + 1, 0);
    ends_.resize(starts_.size(), 0);
}

std::size_t Arena::start_at(std::size_t offset) const {
    const auto found = std::lower_bound(starts_.begin(), starts_.end(), offset);
    return static_cast<std::size_t>(found - starts_.begin());
}

// Whether no block that is taken overlaps [offset, end): of those that start before `end`, the last
// one ends last.
bool Arena::is_free(std::size_t offset, std::size_t end) const {
    const std::size_t behind = start_at(end);
    std::size_t word = behind / kWord;
    std::uint64_t bits = taken_starts_[word] & ((std::uint64_t{1} << behind % kWord) - 1);
    while (bits == 0 && word > 0) bits = taken_starts_[--word];
    if (bits == 0) return true;
    const auto last = word * kWord + static_cast<std::size_t>(std::bit_width(bits)) - 1;
    return ends_[last] <= offset;
}

std::byte* Arena::take(std::size_t number) {
    if (blocks_[number].length == 0) return nullptr;
    const std::size_t offset = plan_.offsets[number];
    const std::size_t end = offset + planned_bytes(blocks_[number].bytes);
    if (!is_free(offset, end)) return nullptr;
    const std::size_t start = start_at(offset);
    taken_starts_[start / kWord] |= std::uint64_t{1} << start % kWord;
    ends_[start] = end;
    ++taken_;
    return memory_ + offset;
}

void Arena::give_back(const std::byte* block) {
    const std::size_t start = start_at(static_cast<std::size_t>(block - memory_));
    taken_starts_[start / kWord] &= ~(std::uint64_t{1} << start % kWord);
    --taken_;
}

void Arena::return_empty_places() noexcept {
    std::size_t end = 0;  // of the blocks so far
    for (std::size_t start = 0; start < starts_.size(); ++start) {
        if ((taken_starts_[start / kWord] >> start % kWord & 1) == 0) continue;
        return_pages(memory_ + end, starts_[start] - end);
        end = ends_[start];
    }
    return_pages(memory_ + end, plan_.bytes - end);
}

void TurnRecord::asked(std::size_t bytes, const std::byte* block) {
    alive_[block] = {turn_, now_.size()};
    now_.push_back({.bytes = bytes, .from = now_.size(), .length = 0});
}

void TurnRecord::on_free(const std::byte* block) {
    const auto found = alive_.find(block);
    if (found == alive_.end()) return;
    const auto [turn, number] = found->second;
    alive_.erase(found);
    if (turn == turn_) {
        now_[number].length = now_.size() - number;
    } else if (turn + 1 == turn_ && now_.size() <= number) {
        before_[number].length = before_.size() - number + now_.size();
    }
}

std::optional<TurnBlocks> TurnRecord::end_turn() {
    const bool same = !now_.empty() &&
                      std::equal(now_.begin(), now_.end(), before_.begin(), before_.end(),
                                 [](const auto& a, const auto& b) { return a.bytes == b.bytes; });
    TurnBlocks lives = std::exchange(before_, std::exchange(now_, {}));
    ++turn_;
    if (!same) return std::nullopt;
    return lives;
}

namespace {

constexpr int kMostAside = 3;              // turns in a row that leave a plan until it is dropped
constexpr std::size_t kMostBlocks = 8192;  // planning compares all pairs

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

// Adds the last turn to `report`: whether it followed the plan. Call with the lock held.
bool TurnMemory::count_turn(PlannedMemory::Report& report) const {
    if (!is_aside_ && next_ == arena_->blocks()) {
        ++report.followed;
        return true;
    }
    ++report.left;
    if (report.why_left.empty()) {  // a turn that is aside has noted why
        report.why_left =
            fmt::format("step {} ended after {}; {} were planned", turns_,
                        pluralize(static_cast<std::int64_t>(next_), "block"), arena_->blocks());
    }
    return false;
}

// Call with the lock held. Returns the blocks to plan for, if any.
std::optional<TurnBlocks> TurnMemory::end_turn() {
    const bool has_plan = arena_ != nullptr;
    const bool followed = has_plan && count_turn(report_);
    next_ = 0;
    is_aside_ = false;
    if (turns_++ == 0 || disabled_) return std::nullopt;
    if (!has_plan) return record_.end_turn();
    settled_ = turns_with_plan_++ == 0;
    if (followed) {
        aside_in_a_row_ = 0;
    } else if (++aside_in_a_row_ == kMostAside) {
        arena_ = nullptr;
        release_arenas();
        report_.blocks = 0;
        record_ = {};
        aside_in_a_row_ = 0;
    }
    return std::nullopt;
}

namespace {

// Null if there is no memory for it, or no block to place.
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
        under_way_ = true;
        settled = std::exchange(settled_, false);
    }
    // Releases the cached blocks of the turns before the plan, and after its first turn what is
    // left.
    if (blocks || settled) release_cached_blocks();
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

// Call with the lock held. Planning would fail the same way after every turn.
void TurnMemory::give_up(std::size_t blocks) {
    disabled_ = true;
    record_ = {};
    note_left(fmt::format("no plan was found for a step of {} blocks", blocks));
}

void TurnMemory::end_allocations() {
    const auto lock = lock_blocks();
    under_way_ = false;
}

// The last turn is in report_ only when the next begins.
PlannedMemory::Report TurnMemory::report() const {
    const auto lock = lock_blocks();
    PlannedMemory::Report report = report_;
    if (arena_ != nullptr && !under_way_) count_turn(report);
    return report;
}

void TurnMemory::note_left(std::string why) {
    if (report_.why_left.empty()) report_.why_left = std::move(why);
}

std::byte* TurnMemory::take(std::size_t bytes) {
    if (arena_ == nullptr || is_aside_) return nullptr;
    const std::size_t number = next_++;
    if (number >= arena_->blocks() || arena_->bytes_of(number) != bytes) {
        is_aside_ = true;
        const std::size_t planned = arena_->blocks();
        note_left(number >= planned
                      ? fmt::format("step {} allocated more than the {} that were planned", turns_,
                                    pluralize(static_cast<std::int64_t>(planned), "block"))
                      : fmt::format("step {} allocated {} bytes as block {}; {} were planned",
                                    turns_, bytes, number + 1, arena_->bytes_of(number)));
        return nullptr;
    }
    return arena_->take(number);
}

void TurnMemory::on_allocate(std::size_t bytes, const std::byte* block) noexcept {
    if (arena_ != nullptr || disabled_) return;
    try {
        record_.asked(bytes, block);
    } catch (const std::bad_alloc&) {  // the block exists, but its turn will match no other
        record_ = {};
    }
}

void TurnMemory::on_free(const std::byte* block) {
    if (arena_ == nullptr) record_.on_free(block);
}

}  // namespace tapestry::detail
