// What a turn asked for and how long it kept it: the blocks of this turn and of the one before.
// Internal to core. Read next: arena.h, what a plan is made of.
#pragma once

#include <tapestry/core/arena.h>

#include <optional>
#include <unordered_map>

namespace tapestry::detail {

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

}  // namespace tapestry::detail
