// The words that the heads of a GPT attend to in stories: how far, how many words, and whether they
// find the related word. The story generator knows which words are related (stories.h), for any
// tokenizer.
#pragma once

#include <tapestry/nn/models/gpt.h>

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace tapestry::experiments {

// ---- tokenized stories, with links between related words

enum class Link { subject, object, modifier, coreference };  // coreference: pronoun -> antecedent
inline constexpr int kLinks = 4;
const char* name_of(Link link);

/// The beginning of a story. Each link points from a later token to an earlier one.
struct Piece {
    struct Pair {
        std::int64_t from, to;
    };
    std::vector<std::int64_t> ids;
    std::vector<Pair> links[kLinks];
};

/// Token ids of a text, preceded by any tokens that the model expects. Encoding a prefix that ends
/// at a word boundary must give a prefix of the whole text's ids.
using Encode = std::function<std::vector<std::int64_t>(std::string_view)>;

/// Stories from this seed, about `bytes` in total, each cut to `context` tokens. A link points from
/// the last token of one word to the last token of the other. Leaves out stories for which
/// `is_wanted` is false.
std::vector<Piece> story_pieces(
    std::uint64_t seed, std::size_t bytes, const Encode& encode, std::int64_t context,
    const std::function<bool(std::string_view)>& is_wanted = [](std::string_view) { return true; });

// ---- heads

/// A head's mean weight on linked words, and its mean weight on unlinked words at the same
/// distance: averaged over all words, for coreference over pronouns. The ratio is 1 for a head that
/// sees only distance, or only that the word is a pronoun.
struct LinkWeight {
    double weight = 0, expected = 0;
    double times() const { return weight / expected; }
};

struct HeadFigures {
    double distance = 0;  ///< mean, in tokens
    double entropy = 0;   ///< mean, in nats
    double previous = 0;  ///< mean weight on the previous token
    LinkWeight links[kLinks];
};

/// [layers][heads], means over the pieces. Throws ValueError if a kind of link never occurs.
std::vector<std::vector<HeadFigures>> look(const GPT& model, const std::vector<Piece>& pieces);

}  // namespace tapestry::experiments
