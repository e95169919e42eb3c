// GPT-2's tokenizer: byte-level byte-pair encoding. A text is split into words (nn/data/words.h)
// and each word into its bytes; then pairs are merged, those most frequent in the training text
// first, until none is left. Every text has an encoding, because every byte is a token; common
// words are single tokens.
//
// In its two files a byte is written as a printable character: printable Latin-1 characters as
// themselves, the others, in order, as U+0100 and up; a space is U+0120. Sources: Sennrich et al.
// 2016, "Neural Machine Translation of Rare Words with Subword Units"; on bytes: Radford et al.
// 2019 (GPT-2), section 2.2.
#pragma once

#include <tapestry/nn/data/marks.h>
#include <tapestry/nn/data/token_boundaries.h>
#include <tapestry/nn/data/tokenizer.h>

#include <array>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tapestry {

/// Byte sequences <-> ids 0 .. vocab_size() - 1. Immutable.
class BytePairTokenizer final : public Tokenizer {
public:
    /// Separates documents. If the vocabulary has it, the text "<|endoftext|>" is encoded as this
    /// one token, as in transformers.
    static constexpr std::string_view kEndOfText = "<|endoftext|>";

    /// Names of the two files in error messages.
    struct Names {
        std::string vocab = "vocabulary";    ///< of the file with the tokens
        std::string merges = "merges";       ///< of the file with the merges
        std::string added = "added tokens";  ///< of the file with the added tokens
    };

    /// `vocab` is the JSON of vocab.json or encoder.json, {"!": 0, ...}; `merges` the text of
    /// merges.txt or vocab.bpe: a first line "#version: 0.2" (or none), then a pair per line, the
    /// most frequent first. Throws ValueError, with file and line or entry, for: invalid JSON, an
    /// entry that is not an id, ids other than 0 .. n - 1, each once, a duplicate token, a token
    /// with a character that represents no byte, a byte without a token; a line that is not two
    /// tokens and a space, a duplicate pair, or one whose parts or result are not in the
    /// vocabulary.
    ///
    /// `added` is the JSON of added_tokens.json, {"<pad>": 50257, ...}, or empty: texts that are
    /// one token each in any context. Their ids follow those of `vocab`, unless `vocab` has the
    /// token.
    static BytePairTokenizer from_text(std::string_view vocab, std::string_view merges,
                                       const Names& names, std::string_view added = "");
    static BytePairTokenizer from_text(std::string_view vocab, std::string_view merges) {
        return from_text(vocab, merges, Names{});
    }

    /// Pairs of tokens, each a byte or the result of an earlier pair; the most frequent first.
    using Merges = std::vector<std::pair<std::string, std::string>>;
    /// A vocabulary of the bytes, with their values as ids, the results of the merges, in order,
    /// and kEndOfText. Throws ValueError for a pair with an undefined token.
    static BytePairTokenizer from_merges(const Merges& merges);

    /// How a tokenizer of another library differs from GPT-2's.
    struct Rules {
        bool whole_words = false;  ///< a word that is a token is not split, for any merges
    };
    /// The tokens by id, as bytes ("": none has this id), and merges of any tokens. A byte without
    /// a token is left out of words (encode_piece throws). A word's pairs are merged one at a time,
    /// the first of those with the lowest rank, also if a merge has just created it;
    /// from_text and from_merges merge all pairs of one rank before. (No merges that were learned
    /// tell the difference.) Throws ValueError for a token or a pair that occurs twice, and for a
    /// pair that is not of tokens or whose result is none.
    static BytePairTokenizer from_tokens(std::vector<std::string> tokens, const Merges& merges,
                                         const Rules& rules);

    /// Appends the ids of words, each encoded by itself. Time as for encode_piece.
    void encode_words(const std::vector<std::string_view>& words,
                      std::vector<std::int64_t>& ids) const;
    /// The id of a token; -1 if it is none.
    std::int32_t id_of(std::string_view bytes) const;
    /// Whether some bytes have no token.
    bool lacks_bytes() const { return lacks_bytes_; }
    /// The bytes that a file's token represents. Throws ValueError, beginning with `place`, for a
    /// character that represents none.
    static std::string bytes_of(std::string_view token, const std::string& place);

    /// The contents of the two files, as from_text reads them.
    std::string vocab_json() const;
    /// The merges, one pair per line, in order.
    std::string merges_text() const;
    /// The added tokens; empty if there are none.
    std::string added_json() const;
    /// Texts that are one token each in any context, kEndOfText and added ones, and their ids.
    const std::vector<std::pair<std::string, std::int64_t>>& marks() const { return marks_.list(); }

    std::string_view kind() const override { return "bpe"; }
    std::int64_t vocab_size() const override { return static_cast<std::int64_t>(bytes_.size()); }
    std::optional<std::int64_t> end_of_text() const override { return end_of_text_; }
    /// end_of_text(), or the token of a newline.
    std::int64_t beginning() const override;

    /// Throws ValueError, naming piece.what, when the text is not UTF-8. Time: n log n in the worst
    /// case, for a single word of n bytes; repeated words cost a table look-up. A word of more than
    /// 1 MiB is encoded in parts of that size.
    void encode_piece(const TextPiece& piece, std::vector<std::int64_t>& ids) const override;
    /// The last position where a word begins in any context.
    std::size_t piece_end(std::string_view text) const override;

    /// The bytes of the ids: decode(encode(text)) == text. Other ids may give invalid UTF-8: see
    /// utf8::Stream. Throws IndexError for an id outside the vocabulary.
    std::string decode(std::span<const std::int64_t> ids) const override;
    std::string hash() const override;

private:
    using Id = std::int32_t;
    struct Merge {
        std::uint32_t rank;
        Id id;  // of the merged token
    };
    struct Pair {
        Id left, right;
    };
    class WordEncoder;

    BytePairTokenizer() = default;
    void read_vocab(std::string_view json, const std::string& name);
    void read_merges(std::string_view text, const Names& names);
    void read_added(std::string_view json, const std::string& name);
    void add_merge(std::string_view line, std::size_t number, const Names& names);
    Id add_token(const std::string& bytes);  // or its existing id
    void find_boundaries();                  // when all tokens are there
    void encode_words(std::string_view text, WordEncoder& encoder) const;
    std::size_t last_sure_word(std::string_view text) const;
    std::size_t before_mark(std::string_view text, std::size_t cut) const;
    // The merge of two neighbours; null if there is none.
    const Merge* merge_of(Id left, Id right) const;
    bool insert_merge(Pair pair, Merge merge);  // false if the pair is known
    static std::uint64_t key(Id left, Id right);
    std::size_t place_of(std::uint64_t key) const;

    std::vector<std::string> bytes_;  // of every token
    std::unordered_map<std::string, Id> ids_;
    std::vector<Pair> pairs_;  // by rank
    // By key, an open table: encoding looks up three pairs for every merge. An id of -1 is free.
    struct MergePlace {
        std::uint64_t key = 0;
        Merge merge{0, -1};
    };
    std::vector<MergePlace> merges_ = std::vector<MergePlace>(64);
    TokenBoundaries boundaries_;
    std::array<Id, 256> byte_ids_{};
    std::optional<std::int64_t> end_of_text_;
    Marks marks_;                    // kEndOfText first, if there
    std::size_t in_vocabulary_ = 0;  // tokens before the added ones
    Rules rules_;
    bool one_at_a_time_ = false;  // from_tokens
    bool lacks_bytes_ = false;    // some bytes have no token
};

}  // namespace tapestry
