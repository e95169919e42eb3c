// Learns byte pairs from a text: the most frequent pair of adjacent tokens within the text's words
// becomes a new token; this repeats until there are enough tokens. Read next: bpe.h, which encodes
// with the result.
//
// Repeated words are stored once, with their counts (word_counts.cpp); a merge visits only the
// words that contain its pair, and a heap provides the most frequent pair. Sources: Sennrich et al.
// 2016, "Neural Machine Translation of Rare Words with Subword Units", section 3.2; on bytes:
// Radford et al. 2019 (GPT-2), section 2.2.
#pragma once

#include <tapestry/core/random.h>
#include <tapestry/nn/data/bpe.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tapestry {

/// Counts of the words of a text, split as GPT-2 does (the first step of its encoding), in bounded
/// memory: words beyond the limit are sampled. A new word is then added with probability
/// 1 / sampling() each time it occurs, and counted from then on, so a frequent word misses few of
/// its occurrences, and the estimates of rare ones are right on average. Source: Gibbons and Matias
/// 1998, "New Sampling-Based Summary Statistics for Improving Approximate Query Answers" (counting
/// samples).
class WordCounts {
public:
    /// Longer words, in bytes, are cut into words of at most this length, at whole characters: text
    /// without spaces (DNA, hexadecimal numbers, Chinese) has no shorter ones.
    static constexpr std::size_t kLongest = 256;
    /// The limit on the bytes of the distinct words.
    static constexpr std::size_t kMostBytes = std::size_t{128} << 20;

    /// With the limit kMostBytes.
    WordCounts() : WordCounts(kMostBytes) {}
    /// With a limit of `most_bytes`, at least kLongest (ValueError).
    explicit WordCounts(std::size_t most_bytes);

    /// Adds a text's words, except BytePairTokenizer::kEndOfText.
    void add(std::string_view text);

    /// The share of the text's bytes that is in words that were cut.
    double cut_share() const;
    /// 1 while all words are counted; k if a word that occurs once is among them with probability
    /// 1 / k.
    std::int64_t sampling() const { return sampling_; }

    /// How often the word occurred (about, if words are sampled); 0 if it is unknown or longer than
    /// kLongest.
    std::int64_t of(std::string_view word) const;
    std::size_t size() const { return words_.size(); }  ///< distinct words

    /// A position among the words, in the order of their first occurrence.
    class Iterator {
    public:
        /// Word `number` of `counts`.
        Iterator(const WordCounts& counts, std::size_t number)
            : counts_(&counts), number_(number) {}
        /// The word and its count.
        std::pair<std::string_view, std::int64_t> operator*() const {
            return {counts_->text_of(number_), counts_->count_of(number_)};
        }
        /// To the next word.
        Iterator& operator++() {
            ++number_;
            return *this;
        }
        bool operator==(const Iterator& other) const = default;  ///< the same position

    private:
        const WordCounts* counts_;
        std::size_t number_;
    };
    Iterator begin() const { return {*this, 0}; }            ///< the first word
    Iterator end() const { return {*this, words_.size()}; }  ///< beyond the last word

private:
    struct Word {
        std::size_t begin;   // in bytes_
        std::uint32_t size;  // at most kLongest
        std::uint32_t hash;
        std::int64_t count;
    };
    // A place of the table, which is open: the number of a word + 1, or 0, and a part of its hash,
    // so that others are passed without a look at their text.
    struct Slot {
        std::uint32_t hash = 0;
        std::uint32_t number = 0;
    };

    std::string_view text_of(std::size_t number) const {
        return std::string_view(bytes_).substr(words_[number].begin, words_[number].size);
    }
    std::int64_t count_of(std::size_t number) const { return words_[number].count + sampling_ - 1; }
    std::size_t slot_of(std::string_view word, std::uint32_t hash) const;
    void add_word(std::string_view word);
    void insert(std::string_view word, std::uint32_t hash, std::int64_t count);
    void resize_table(std::size_t slots);
    void sample_fewer();

    std::size_t most_bytes_;
    std::string bytes_;
    std::vector<Word> words_;
    std::vector<Slot> table_;
    std::int64_t sampling_ = 1;
    Generator generator_;
    double all_bytes_ = 0;
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
