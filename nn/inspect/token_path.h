// The path of a token through the model: its vector after every operation between the first
// embedding and the logits. A token's vectors keep its position throughout; only attention reads
// others, whose keys and values are in an AttentionTrace.
#pragma once

#include <tapestry/autograd/op.h>

#include <unordered_map>
#include <vector>

namespace tapestry {

/// An operation's output at the selected positions.
struct FollowedEntry {
    int entry = -1;              ///< index into Inspector::entries()
    std::int64_t width = 0;      ///< C, or H D for separate heads
    bool whole = false;          ///< one vector for the whole sequence: an image's class
    std::vector<float> numbers;  ///< [places, C]; [1, C] if whole
    /// Lengths of all its tokens' vectors; one if whole; empty if there are no numbers.
    std::vector<float> lengths = {};
    /// Lengths of their gradients; empty if backward did not reach it.
    std::vector<float> gradients = {};
};

/// For sequence 0. In ordinary memory, as AttentionTrace is.
struct TokenPath {
    std::int64_t tokens = 0;               ///< T
    std::vector<std::int64_t> places{};    ///< selected positions of the T, ascending
    std::vector<FollowedEntry> entries{};  ///< in the order in which they ran
};

/// Adds the gradient of an entry's output, if the entry is on the path.
void add_token_gradient(TokenPath& path, int entry, const Tensor& gradient);

/// `count` of `tokens` positions, evenly spaced from the first to the last; only the last if it is
/// one.
std::vector<std::int64_t> even_places(std::int64_t tokens, std::int64_t count);

/// Sees every entry as it is recorded, then extracts the path to the logits.
class TokenPaths {
public:
    /// `parameters`: the model's number of them, which limits the number of tokens followed: as
    /// many as make kMostNumbers, and at least one.
    explicit TokenPaths(std::int64_t parameters) : parameters_(parameters) {}
    /// Limit on the numbers kept of all tokens together.
    static constexpr std::int64_t kMostNumbers = std::int64_t{1} << 19;

    /// For an Inspector: `entry` is the index of the op that was just recorded.
    void recorded(const Op& op, const Tensors& inputs, const Tensors& outputs, int entry);

    /// The entries on the path to the tensor in this slot, except reshapes and other views. Through
    /// attention, the path follows the query.
    TokenPath to(int slot) const;

private:
    struct Seen {
        std::vector<int> inputs;   // slots on the token's path to here
        std::int64_t tokens = -1;  // 0: one vector for all; -1: nothing kept
        bool flows = false;        // computed from the tokens' vectors
        FollowedEntry kept = {};
    };
    std::int64_t places_of(std::int64_t tokens) const;

    std::int64_t parameters_;
    std::int64_t dim_ = 0;  // of the first vectors
    std::vector<Seen> seen_;
    std::unordered_map<int, std::size_t> made_by_;  // slots: index into seen_
};

}  // namespace tapestry
