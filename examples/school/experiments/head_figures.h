// What the heads of a GPT look at in stories: how far, at how many words, and whether they find the
// word that belongs to theirs. The story generator knows which words belong together (stories.h),
// whatever the model's tokens are.
#pragma once

#include <tapestry/nn/models/gpt.h>

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace tapestry::experiments {

// ---- stories cut into tokens, with the words that belong together

enum class Link { subject, object, modifier, coreference };  // coreference: pronoun -> antecedent
inline constexpr int kLinks = 4;
const char* name_of(Link link);

/// The beginning of a story. Each link goes from a later token back to an earlier one.
struct Piece {
    struct Pair {
        std::int64_t from, to;
    };
    std::vector<std::int64_t> ids;
    std::vector<Pair> links[kLinks];
};

/// A text's ids, with what the model wants before them; the beginning of a text up to the end of a
/// word is encoded as within the whole.
using Encode = std::function<std::vector<std::int64_t>(std::string_view)>;

/// Stories of this seed, of some `bytes` together, each cut to `context` tokens. A link goes from
/// the last token of a word to the last of the other.
std::vector<Piece> story_pieces(std::uint64_t seed, std::size_t bytes, const Encode& encode,
                                std::int64_t context);

// ---- heads

/// A head's mean weight on linked words, and what it gives to words as far away that are not
/// linked: on average over all words, for coreference over pronouns. A head that sees only
/// distance, or only that this is a pronoun, has 1.
struct LinkWeight {
    double weight = 0, expected = 0;
    double times() const { return weight / expected; }
};

struct HeadFigures {
    double distance = 0;  ///< mean, in tokens
    double entropy = 0;   ///< mean, in nats
    double previous = 0;  ///< mean weight on the token before
    LinkWeight links[kLinks];
};

/// [layers][heads], means over the pieces. Throws ValueError if some kind of link occurs in none.
std::vector<std::vector<HeadFigures>> look(const GPT& model, const std::vector<Piece>& pieces);

}  // namespace tapestry::experiments
