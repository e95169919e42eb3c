// What becomes of one token: of every operation between the first embedding and the logits, the
// vector at the token's place. A token's vectors stay at its place all the way; only attention
// looks at others, whose keys and values an AttentionTrace has.
#pragma once

#include <tapestry/autograd/op.h>

#include <unordered_map>
#include <vector>

namespace tapestry {

/// What an operation gave at the places that are followed.
struct FollowedEntry {
    int entry = -1;              ///< of Inspector::entries()
    std::int64_t width = 0;      ///< C, or H D where heads are apart
    bool whole = false;          ///< one vector stands for the whole sequence: an image's class
    std::vector<float> numbers;  ///< [places, C]; [1, C] of the whole
};

/// Of sequence 0. In ordinary memory, as AttentionTrace is.
struct TokenPath {
    std::int64_t tokens = 0;               ///< T
    std::vector<std::int64_t> places{};    ///< those of the T that are followed, ascending
    std::vector<FollowedEntry> entries{};  ///< in the order in which they ran
};

/// `count` of `tokens` places, evenly from the first to the last; the last alone if it is one.
std::vector<std::int64_t> even_places(std::int64_t tokens, std::int64_t count);

/// Told of every entry as it is recorded; afterwards, of the way to the logits.
class TokenPaths {
public:
    /// `parameters` of the model, from which follows how many tokens there is room for: as many as
    /// make kMostNumbers, and one at least.
    explicit TokenPaths(std::int64_t parameters) : parameters_(parameters) {}
    static constexpr std::int64_t kMostNumbers = std::int64_t{1} << 19;

    void recorded(const Op& op, const Tensors& inputs, const Tensors& outputs, int entry);

    /// The entries through which the tensor in this slot was made, without those that only look at
    /// numbers in another shape. Through attention the way leads by the query.
    TokenPath to(int slot) const;

private:
    struct Seen {
        std::vector<int> inputs;   // slots by which a token's way may have led here
        std::int64_t tokens = -1;  // 0: one vector for all; -1: nothing was kept
        bool flows = false;        // is it made of tokens' vectors?
        FollowedEntry kept = {};
    };
    std::int64_t places_of(std::int64_t tokens) const;

    std::int64_t parameters_;
    std::int64_t dim_ = 0;  // of the first vectors
    std::vector<Seen> seen_;
    std::unordered_map<int, std::size_t> made_by_;  // slots: by which of seen_
};

}  // namespace tapestry
