// A tokenizer as Hugging Face's library writes it, tokenizer.json: the tokenizer of Llama, SmolLM,
// Qwen and most models since. Byte pairs as GPT-2's (nn/data/bpe.h), with the file's own rules for
// words, added tokens and merging:
//
//     const auto tokenizer = JsonTokenizer::from_json(text, "tokenizer.json");
//     const std::vector<std::int64_t> ids = tokenizer.encode("Hello world");
//
// A file is followed to the letter or refused: what changes the ids and is not known here is named.
// Source: github.com/huggingface/tokenizers; the tests compare ids with this library.
// Read next: pre_tokenizer.h.
#pragma once

#include <tapestry/core/text/normalize.h>
#include <tapestry/nn/data/bpe.h>

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

namespace tapestry {

class JsonNode;
class PreTokenizer;

/// Text <-> ids by the rules of a tokenizer.json. Only declare_ends() changes it.
class JsonTokenizer final : public Tokenizer {
public:
    /// Throws ValueError, with `name` and the reason, for invalid JSON; a model other than BPE on
    /// bytes; a normalizer other than NFC and NFD; pre-tokenizers other than PreTokenizer's;
    /// dropout; prefixes and suffixes of words; added tokens that include white space around them,
    /// or are whole words only; ids that occur twice; merges of unknown tokens. Tokens that a
    /// post-processor adds are not part of a text's ids, as with add_special_tokens=False there;
    /// one before the text is begin_of_text(), more than one are refused, those behind it ignored.
    static JsonTokenizer from_json(std::string json, const std::string& name = "tokenizer.json");

    const std::string& json() const { return json_; }  ///< the file's text

    std::string_view kind() const override { return "json"; }
    std::int64_t vocab_size() const override { return pairs_->vocab_size(); }
    /// begin_of_text(), an added token with the usual name of one, end_of_text(), or a newline's.
    std::int64_t beginning() const override;
    std::optional<std::int64_t> begin_of_text() const override { return begin_of_text_; }
    /// The added token that ends texts: the first of declared_ends() that is one and does not end
    /// the turns of a chat instead ("<|im_end|>"); without any, the token with the name that it has
    /// in GPT-2, Llama, DeepSeek or SentencePiece.
    std::optional<std::int64_t> end_of_text() const override;

    /// Throws ValueError, naming piece.what, for text that is not UTF-8. Linear in the text's
    /// length but for single words (n log n).
    void encode_piece(const TextPiece& piece, std::vector<std::int64_t>& ids) const override;
    std::size_t piece_end(std::string_view text) const override;
    /// The bytes of the ids: decode(encode(text)) is the text, normalized if there is a normalizer,
    /// but for bytes that have no token.
    std::string decode(std::span<const std::int64_t> ids) const override;
    std::string hash() const override;

private:
    JsonTokenizer() = default;
    void read(const JsonNode& root, const std::string& name);
    void read_normalizer(const JsonNode& root, const std::string& name);
    void read_marks(const JsonNode& root, const std::string& name);
    void read_model(const JsonNode& root, const std::string& name);
    std::optional<std::int64_t> first_mark(std::span<const std::string_view> names) const;
    void encode_part(std::string_view text, std::vector<std::int64_t>& ids) const;
    std::size_t sure_end(std::string_view text) const;
    std::size_t sure_end_normalized(std::string_view text) const;

    std::string json_;
    std::optional<unicode::NormalForm> form_;  // in which text is split and encoded
    Marks marks_;                              // the added tokens
    // Those that are found in the text as it is, before all others, and those that are found in
    // normalized text, themselves normalized.
    Marks plain_marks_, normalized_marks_;
    std::unordered_map<std::int64_t, std::string> mark_by_id_;
    std::optional<std::int64_t> begin_of_text_;
    std::shared_ptr<const PreTokenizer> words_;
    std::shared_ptr<const BytePairTokenizer> pairs_;
};

}  // namespace tapestry
