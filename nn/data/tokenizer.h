// A tokenizer whose tokens are the characters (Unicode code points) of a text: nothing to train,
// works for every script, and short to read. The next one to read is nn/data/text.h, which turns
// its ids into batches.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tapestry {

/// Characters <-> ids 0 .. vocab_size() - 1. Immutable.
class CharTokenizer {
public:
    /// The vocabulary is every character that occurs in `text`, sorted by code point: the same
    /// text gives the same ids everywhere. Throws ValueError when `text` is empty or not UTF-8.
    static CharTokenizer from_text(std::string_view text);

    /// Reads what to_json() writes: {"type":"char","vocab":["\n"," ","a"]}; an entry's place is its
    /// id, so any order is taken. Other keys are ignored. Throws ValueError, saying what is wrong:
    /// no JSON, another type, no or an empty vocab, an entry that is not exactly one character, a
    /// character or a key that comes twice.
    static CharTokenizer from_json(std::string_view json);
    std::string to_json() const;

    std::int64_t vocab_size() const { return static_cast<std::int64_t>(vocab_.size()); }
    /// Character of every id.
    const std::u32string& vocab() const { return vocab_; }

    /// One id per character. Throws ValueError in the name of `what` ("prompt", a file's name) when
    /// `text` is not UTF-8 or holds a character outside the vocabulary; positions count characters
    /// from 0.
    std::vector<std::int64_t> encode(std::string_view text, std::string_view what = "text") const;

    /// The text of the ids. Throws IndexError for an id outside the vocabulary.
    std::string decode(std::span<const std::int64_t> ids) const;

private:
    explicit CharTokenizer(std::u32string vocab);

    std::u32string vocab_;
    std::unordered_map<char32_t, std::int64_t> ids_;
};

}  // namespace tapestry
