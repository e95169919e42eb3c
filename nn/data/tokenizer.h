// Tokenizer: from text to ids and back. The one in this file takes the characters (Unicode code
// points) of a text as tokens: nothing to train, works for every script, and short to read. The
// other is GPT-2's, in nn/data/bpe.h; nn/data/text.h turns the ids into batches.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tapestry {

/// What a model's ids stand for: ids 0 .. vocab_size() - 1.
class Tokenizer {
public:
    virtual ~Tokenizer() = default;

    /// "char" or "bpe".
    virtual std::string_view kind() const = 0;
    virtual std::int64_t vocab_size() const = 0;
    /// What one of its tokens is, for people: "character" or "token".
    std::string_view unit() const { return kind() == "char" ? "character" : "token"; }

    /// The id after which a text may begin: what a model is asked to continue when nothing is
    /// given.
    virtual std::int64_t beginning() const = 0;

    /// Throws ValueError in the name of `what` ("prompt", a file's name) when `text` is not UTF-8
    /// or cannot be said in this vocabulary.
    virtual std::vector<std::int64_t> encode(std::string_view text,
                                             std::string_view what = "text") const = 0;

    /// The text of the ids: decode(encode(text)) == text. Throws IndexError for an id outside the
    /// vocabulary.
    virtual std::string decode(std::span<const std::int64_t> ids) const = 0;

protected:
    Tokenizer() = default;
    Tokenizer(const Tokenizer&) = default;
    Tokenizer(Tokenizer&&) = default;
    Tokenizer& operator=(const Tokenizer&) = default;
    Tokenizer& operator=(Tokenizer&&) = default;
};

/// Characters <-> ids 0 .. vocab_size() - 1. Immutable.
class CharTokenizer final : public Tokenizer {
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

    std::string_view kind() const override { return "char"; }
    std::int64_t vocab_size() const override { return static_cast<std::int64_t>(vocab_.size()); }
    /// A line's end, where the vocabulary has it; otherwise id 0.
    std::int64_t beginning() const override;
    /// Character of every id.
    const std::u32string& vocab() const { return vocab_; }

    /// One id per character. Throws ValueError in the name of `what` ("prompt", a file's name) when
    /// `text` is not UTF-8 or holds a character outside the vocabulary; positions count characters
    /// from 0.
    std::vector<std::int64_t> encode(std::string_view text,
                                     std::string_view what = "text") const override;

    /// The text of the ids. Throws IndexError for an id outside the vocabulary.
    std::string decode(std::span<const std::int64_t> ids) const override;

private:
    explicit CharTokenizer(std::u32string vocab);

    std::u32string vocab_;
    std::unordered_map<char32_t, std::int64_t> ids_;
};

}  // namespace tapestry
