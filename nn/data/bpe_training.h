// Byte pairs learned from a text: the pair of neighbouring tokens that is most frequent within the
// text's words becomes a token of its own; again, until there are enough tokens. Read next: bpe.h,
// which encodes with what was learned.
//
// Words that come again are counted once, with how often; a merge looks only at the words in which
// its pair occurs, and a heap has the most frequent pair. Sources: Sennrich et al. 2016, "Neural
// Machine Translation of Rare Words with Subword Units", section 3.2; on bytes: Radford et al. 2019
// (GPT-2), section 2.2.
#pragma once

#include <tapestry/nn/data/bpe.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

namespace tapestry {

/// How often each word of a text occurs, words being GPT-2's (the first step of its encoding).
class WordCounts {
public:
    /// What has more bytes than this is no word that a token should be made of.
    static constexpr std::size_t kLongest = 256;

    /// A text's words, less those above kLongest and what is BytePairTokenizer::kEndOfText.
    void add(std::string_view text);

    std::int64_t of(std::string_view word) const;
    std::size_t size() const { return counts_.size(); }  ///< different words
    auto begin() const { return counts_.begin(); }       ///< of (word, count), in any order
    auto end() const { return counts_.end(); }

private:
    struct Hash {
        using is_transparent = void;
        std::size_t operator()(std::string_view text) const {
            return std::hash<std::string_view>()(text);
        }
    };
    std::unordered_map<std::string, std::int64_t, Hash, std::equal_to<>> counts_;
};

/// A tokenizer of `vocab` tokens: the bytes, whose ids are their values, what the merges make, in
/// their order, and <|endoftext|>; fewer when no pair is left that occurs twice. Of pairs that are
/// equally frequent the one with the lower ids comes first, so the same counts give the same
/// tokenizer everywhere. Throws ValueError when vocab is less than 257.
BytePairTokenizer train_byte_pairs(const WordCounts& words, std::int64_t vocab);

}  // namespace tapestry
