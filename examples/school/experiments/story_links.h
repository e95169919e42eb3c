// Stories cut into tokens, with the words that belong together: what the heads of a model are asked
// for. The story generator knows them (stories.h), whatever the model's tokens are.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace tapestry::experiments {

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

}  // namespace tapestry::experiments
