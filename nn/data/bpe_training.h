// Learns byte pairs from a text: the most frequent pair of adjacent tokens within the text's words
// becomes a new token; this repeats until there are enough tokens. Read next: bpe.h, which encodes
// with the result.
//
// Repeated words are stored once, with their counts; a merge visits only the words that contain its
// pair, and a heap provides the most frequent pair. Sources: Sennrich et al. 2016, "Neural Machine
// Translation of Rare Words with Subword Units", section 3.2; on bytes: Radford et al. 2019
// (GPT-2), section 2.2.
#pragma once

#include <tapestry/nn/data/bpe.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace tapestry {

/// Counts of the words of a text, split as GPT-2 does (the first step of its encoding).
class WordCounts {
public:
    /// Longer words, in bytes, are cut into words of at most this length, at whole characters: text
    /// without spaces (DNA, hexadecimal numbers, Chinese) has no shorter ones.
    static constexpr std::size_t kLongest = 256;

    /// Adds a text's words, except BytePairTokenizer::kEndOfText.
    void add(std::string_view text);

    /// The share of the text's bytes that is in words that were cut.
    double cut_share() const;

    /// How often the word occurred; 0 if it is unknown or longer than kLongest.
    std::int64_t of(std::string_view word) const;
    std::size_t size() const { return counts_.size(); }  ///< distinct words
    auto begin() const { return counts_.begin(); }       ///< of (word, count), in unspecified order
    auto end() const { return counts_.end(); }           ///< beyond the last of them

private:
    struct Hash {
        using is_transparent = void;
        std::size_t operator()(std::string_view text) const {
            return std::hash<std::string_view>()(text);
        }
    };
    void add_word(std::string_view word);

    std::unordered_map<std::string, std::int64_t, Hash, std::equal_to<>> counts_;
    double bytes_ = 0;
    double cut_bytes_ = 0;
};

/// A tokenizer of `vocab` tokens: the bytes, whose ids are their values, the results of the merges,
/// in order, and <|endoftext|>; fewer if no pair is left that occurs twice. Ties between equally
/// frequent pairs go to the lower ids, so the same counts give the same tokenizer everywhere.
/// Throws ValueError when vocab is less than 257. Calls `working` several times a second; an
/// exception that it throws cancels the work. May be empty.
BytePairTokenizer train_byte_pairs(const WordCounts& words, std::int64_t vocab,
                                   const std::function<void()>& working = {});

}  // namespace tapestry
