#include <tapestry/core/arena.h>

#include <algorithm>
#include <new>

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

}  // namespace

Arena::Arena(const TurnBlocks& blocks)
    : blocks_(blocks), plan_(plan_of(blocks)), is_taken_(blocks.size(), false) {
    find_starts();
    find_neighbours();
    memory_ = static_cast<std::byte*>(::operator new(plan_.bytes, kArenaAlignment));
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
    who_.resize(starts_.size(), 0);
}

void Arena::find_neighbours() {
    overlaps_.resize(blocks_.size());
    const auto end = [this](std::size_t i) {
        return plan_.offsets[i] + planned_bytes(blocks_[i].bytes);
    };
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
        for (std::size_t j = 0; j < blocks_.size(); ++j) {
            if (blocks_[i].length == 0 || blocks_[j].length == 0) continue;
            if (plan_.offsets[i] < end(j) && plan_.offsets[j] < end(i)) {
                overlaps_[i].push_back(static_cast<std::uint32_t>(j));  // also i itself
            }
        }
    }
}

std::byte* Arena::take(std::size_t number) {
    if (blocks_[number].length == 0) return nullptr;
    const auto& others = overlaps_[number];
    if (std::any_of(others.begin(), others.end(), [this](auto i) { return is_taken_[i]; })) {
        return nullptr;
    }
    const std::size_t offset = plan_.offsets[number];
    const auto start = std::lower_bound(starts_.begin(), starts_.end(), offset);
    who_[static_cast<std::size_t>(start - starts_.begin())] = number;
    is_taken_[number] = true;
    ++taken_;
    return memory_ + offset;
}

void Arena::give_back(const std::byte* block) {
    const auto offset = static_cast<std::size_t>(block - memory_);
    const auto start = std::lower_bound(starts_.begin(), starts_.end(), offset);
    is_taken_[who_[static_cast<std::size_t>(start - starts_.begin())]] = false;
    --taken_;
}

}  // namespace tapestry::detail
