// Tokenizer: from text to ids and back. The one in this file uses the characters (Unicode code
// points) of a text as tokens: no training, any script, and little code. Others are GPT-2's, in
// nn/data/bpe.h, and those of a tokenizer.json, in nn/tokenizers; nn/data/text.h forms batches of
// the ids.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tapestry {

/// A part of a text that is encoded separately.
struct TextPiece {
    std::string_view text;           ///< UTF-8
    std::string_view what = "text";  ///< the text's name in error messages: "prompt", a file's name
    std::int64_t position = 0;       ///< number of ids before it, which error messages include
};

/// The mapping between text and a model's ids 0 .. vocab_size() - 1.
class Tokenizer {
public:
    virtual ~Tokenizer() = default;

    /// "char", "bpe" or "json".
    virtual std::string_view kind() const = 0;
    /// Number of tokens: ids are 0 .. vocab_size() - 1.
    virtual std::int64_t vocab_size() const = 0;
    /// The word for a token in messages: "character" or "token".
    std::string_view unit() const { return kind() == "char" ? "character" : "token"; }

    /// An id after which a text may begin: the model's input when there is no prompt.
    virtual std::int64_t beginning() const = 0;
    /// The id that begins each text in the model's training data, if its tokenizer adds one, as a
    /// post-processor of a tokenizer.json does. encode() does not add it: see begin_text().
    virtual std::optional<std::int64_t> begin_of_text() const { return std::nullopt; }
    /// Puts begin_of_text() before the ids of a text, those from `at` on, if there is such an id
    /// and they do not begin with it.
    void begin_text(std::vector<std::int64_t>& ids, std::size_t at = 0) const;
    /// The id that separates documents, if the vocabulary has one.
    virtual std::optional<std::int64_t> end_of_text() const = 0;
    /// The ids at which generation stops by the model's directory (eos_token_id), in addition to
    /// end_of_text(): ends of texts, or of turns in a chat. Empty unless declare_ends() was called.
    const std::vector<std::int64_t>& declared_ends() const { return declared_ends_; }
    /// For the reader of a directory, before the tokenizer is used. The ids of a text stay the
    /// same.
    void declare_ends(std::vector<std::int64_t> ids) { declared_ends_ = std::move(ids); }

    /// Throws ValueError, naming `what`, when `text` is not UTF-8 or cannot be encoded in this
    /// vocabulary.
    std::vector<std::int64_t> encode(std::string_view text, std::string_view what = "text") const;

    /// Appends the ids of a piece. The pieces of a text give the text's ids if all but the last end
    /// where piece_end says. Throws as encode does.
    virtual void encode_piece(const TextPiece& piece, std::vector<std::int64_t>& ids) const = 0;

    /// Length of the prefix of `text`, itself the beginning of a longer text, whose encoding does
    /// not depend on what follows; it ends with a whole character. 0: more text is needed.
    virtual std::size_t piece_end(std::string_view text) const = 0;

    /// The text of the ids: decode(encode(text)) == text. Throws IndexError for an id outside the
    /// vocabulary.
    virtual std::string decode(std::span<const std::int64_t> ids) const = 0;

    /// XXH3 of its files: tokenizers with equal hashes encode every text the same, and begin it
    /// with the same id.
    virtual std::string hash() const = 0;

protected:
    Tokenizer() = default;
    Tokenizer(const Tokenizer&) = default;
    Tokenizer(Tokenizer&&) = default;
    Tokenizer& operator=(const Tokenizer&) = default;
    Tokenizer& operator=(Tokenizer&&) = default;

private:
    std::vector<std::int64_t> declared_ends_;
};

/// Characters <-> ids 0 .. vocab_size() - 1. Immutable.
class CharTokenizer final : public Tokenizer {
public:
    /// Unicode's END OF TEXT, which separates documents if the vocabulary has it.
    static constexpr char32_t kEndOfText = U'\x03';

    /// The vocabulary is every character that occurs in `text`, sorted by code point, so the same
    /// text gives the same ids everywhere. Throws ValueError when `text` is empty or not UTF-8.
    static CharTokenizer from_text(std::string_view text);
    /// The vocabulary is these distinct characters; a character's index is its id.
    explicit CharTokenizer(std::u32string vocab);

    /// Parses the output of to_json(): {"type":"char","vocab":["\n"," ","a"]}; an entry's index is
    /// its id, in any order. Ignores other keys. Throws ValueError, with the reason: invalid JSON,
    /// another type, a missing or empty vocab, an entry that is not exactly one character, a
    /// duplicate character or key.
    static CharTokenizer from_json(std::string_view json);
    /// {"type":"char","vocab":[...]}, which from_json() reads.
    std::string to_json() const;

    std::string_view kind() const override { return "char"; }
    std::int64_t vocab_size() const override { return static_cast<std::int64_t>(vocab_.size()); }
    /// The id of an end of text or a newline, if the vocabulary has one; otherwise 0.
    std::int64_t beginning() const override;
    std::optional<std::int64_t> end_of_text() const override;
    /// The character of every id.
    const std::u32string& vocab() const { return vocab_; }

    /// One id per character. Throws ValueError, naming piece.what, when the text is not UTF-8 or
    /// has a character outside the vocabulary; positions count characters from 0.
    void encode_piece(const TextPiece& piece, std::vector<std::int64_t>& ids) const override;
    /// All of it: characters are encoded independently.
    std::size_t piece_end(std::string_view text) const override { return text.size(); }

    /// The text of the ids. Throws IndexError for an id outside the vocabulary.
    std::string decode(std::span<const std::int64_t> ids) const override;
    std::string hash() const override;

private:
    std::int32_t id_of(char32_t code) const { return code < ids_.size() ? ids_[code] : -1; }

    std::u32string vocab_;
    std::vector<std::int32_t> ids_;  // by code point, up to the vocabulary's last; -1: none
};

}  // namespace tapestry
