#include <tapestry/core/turn_record.h>

#include <algorithm>
#include <utility>

namespace tapestry::detail {

void TurnRecord::asked(std::size_t bytes, const std::byte* block) {
    alive_[block] = {turn_, now_.size()};
    now_.push_back({.bytes = bytes, .from = now_.size(), .length = 0});
}

void TurnRecord::let_go(const std::byte* block) {
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

}  // namespace tapestry::detail
