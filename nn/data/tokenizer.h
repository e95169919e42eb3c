// Tokenizer: from text to ids and back. The one in this file takes the characters (Unicode code
// points) of a text as tokens: nothing to train, works for every script, and short to read. The
// other is GPT-2's, in nn/data/bpe.h; nn/data/text.h turns the ids into batches.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tapestry {

/// A part of a text that is encoded by itself.
struct TextPiece {
    std::string_view text;
    std::string_view what = "text";  ///< how errors call the text: "prompt", a file's name
    std::int64_t position = 0;       ///< ids of what comes before it, which errors count as well
};

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
    /// The id that separates documents, if the vocabulary has one.
    virtual std::optional<std::int64_t> end_of_text() const = 0;

    /// Throws ValueError in the name of `what` when `text` is not UTF-8 or cannot be said in this
    /// vocabulary.
    std::vector<std::int64_t> encode(std::string_view text, std::string_view what = "text") const;

    /// Appends the ids of a piece. Those of a text's pieces are the text's if each but the last
    /// ends where piece_end says. Throws as encode does.
    virtual void encode_piece(const TextPiece& piece, std::vector<std::int64_t>& ids) const = 0;

    /// How much of `text`, the beginning of a longer one, is encoded as within that, whatever
    /// follows; it ends with a whole character. 0: more of the text is needed.
    virtual std::size_t piece_end(std::string_view text) const = 0;

    /// The text of the ids: decode(encode(text)) == text. Throws IndexError for an id outside the
    /// vocabulary.
    virtual std::string decode(std::span<const std::int64_t> ids) const = 0;

    /// XXH3 of its files: tokenizers with the same hash give every text the same ids.
    virtual std::string hash() const = 0;

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
    /// Unicode's END OF TEXT separates documents, where the vocabulary has it.
    static constexpr char32_t kEndOfText = U'\x03';

    /// The vocabulary is every character that occurs in `text`, sorted by code point: the same
    /// text gives the same ids everywhere. Throws ValueError when `text` is empty or not UTF-8.
    static CharTokenizer from_text(std::string_view text);
    /// The vocabulary is these characters, each once; a character's place is its id.
    explicit CharTokenizer(std::u32string vocab);

    /// Reads what to_json() writes: {"type":"char","vocab":["\n"," ","a"]}; an entry's place is its
    /// id, so any order is taken. Other keys are ignored. Throws ValueError, saying what is wrong:
    /// no JSON, another type, no or an empty vocab, an entry that is not exactly one character, a
    /// character or a key that comes twice.
    static CharTokenizer from_json(std::string_view json);
    std::string to_json() const;

    std::string_view kind() const override { return "char"; }
    std::int64_t vocab_size() const override { return static_cast<std::int64_t>(vocab_.size()); }
    /// The end of a text before it, or of a line, where the vocabulary has one; otherwise id 0.
    std::int64_t beginning() const override;
    std::optional<std::int64_t> end_of_text() const override;
    /// Character of every id.
    const std::u32string& vocab() const { return vocab_; }

    /// One id per character. Throws ValueError in the name of piece.what when the text is not UTF-8
    /// or holds a character outside the vocabulary; positions count characters from 0.
    void encode_piece(const TextPiece& piece, std::vector<std::int64_t>& ids) const override;
    /// All of it: characters know nothing of one another.
    std::size_t piece_end(std::string_view text) const override { return text.size(); }

    /// The text of the ids. Throws IndexError for an id outside the vocabulary.
    std::string decode(std::span<const std::int64_t> ids) const override;
    std::string hash() const override;

private:
    std::int32_t id_of(char32_t code) const { return code < ids_.size() ? ids_[code] : -1; }

    std::u32string vocab_;
    std::vector<std::int32_t> ids_;  // by code point, up to the last in the vocabulary; -1: none
};

/// The ids of an encoder-decoder that reads and writes characters: a few marks (padding, begin,
/// end), then the characters. A text alone says neither where what is written begins nor where it
/// ends.
struct MarkedCharacters {
    CharTokenizer characters;  ///< whose id i is first + i in the model
    std::int64_t begin = 1;    ///< what the decoder reads before anything is written
    std::int64_t end = 2;      ///< what it writes after everything
    std::int64_t first = 3;    ///< ids below it are marks

    std::int64_t size() const { return first + characters.vocab_size(); }

    /// An id per character, no marks. Throws as CharTokenizer::encode does.
    std::vector<std::int64_t> encode(std::string_view text, std::string_view what = "text") const {
        std::vector<std::int64_t> ids = characters.encode(text, what);
        for (std::int64_t& id : ids) id += first;
        return ids;
    }

    /// The character of an id from `first` on. Throws IndexError for others.
    std::string text_of(std::int64_t id) const {
        id -= first;
        return characters.decode({&id, 1});
    }
    /// Of any id, for people: a mark is "[begin]", "[end]" or "[padding]".
    std::string name_of(std::int64_t id) const {
        if (id >= first) return text_of(id);
        return id == begin ? "[begin]" : id == end ? "[end]" : "[padding]";
    }
};

}  // namespace tapestry
