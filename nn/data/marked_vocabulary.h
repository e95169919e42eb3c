// The ids of an encoder-decoder: a few marks, then a tokenizer's. Read next: tokenizer.h;
// nn/io/transformer_directory.h, which keeps them with a model.
#pragma once

#include <tapestry/nn/data/tokenizer.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tapestry {

/// Marks (padding, begin, end), then the tokens of a tokenizer. Without marks a text does not show
/// where the output begins or ends.
struct MarkedVocabulary {
    std::shared_ptr<const Tokenizer> tokenizer;  ///< its token i is id first + i in the model
    std::int64_t begin = 1;                      ///< the decoder's first input
    std::int64_t end = 2;                        ///< the decoder's last output
    std::int64_t first = 3;                      ///< smaller ids are marks

    MarkedVocabulary() = default;  ///< without a tokenizer
    /// Marks and characters.
    MarkedVocabulary(CharTokenizer characters);  // NOLINT(google-explicit-constructor)
    /// Marks and the tokens of any tokenizer.
    explicit MarkedVocabulary(std::unique_ptr<Tokenizer> tokens) : tokenizer(std::move(tokens)) {}

    /// ids that the model needs: marks and tokens.
    std::int64_t size() const { return first + tokenizer->vocab_size(); }
    /// "character" or "token".
    std::string_view unit() const { return tokenizer->unit(); }

    /// The ids of a text, without marks. Byte pairs read it with a space in front: its first word
    /// then has the tokens of all others. Throws as Tokenizer::encode does.
    std::vector<std::int64_t> encode(std::string_view text, std::string_view what = "text") const;
    /// The text of ids, without the marks among them and the space in front. Bytes that are not
    /// UTF-8, which byte pairs may form, become U+FFFD. Throws IndexError for an id that the model
    /// does not have.
    std::string decode(std::span<const std::int64_t> ids) const;

    /// The token of an id >= first, as text for display. Throws IndexError for others.
    std::string text_of(std::int64_t id) const;
    /// Any id as text for display: a mark is "[begin]", "[end]" or "[padding]".
    std::string name_of(std::int64_t id) const;
};

}  // namespace tapestry
