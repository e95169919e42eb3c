#include <tapestry/nn/data/marked_vocabulary.h>

#include <tapestry/core/text/utf8.h>

#include <utility>

namespace tapestry {
namespace {

bool has_pieces(const Tokenizer& tokenizer) { return tokenizer.kind() != "char"; }

// Bytes that are not UTF-8 become U+FFFD.
std::string repaired(std::string_view text) {
    utf8::Stream stream;
    std::string whole = stream.push(text);
    return whole + stream.finish();
}

}  // namespace

MarkedVocabulary::MarkedVocabulary(CharTokenizer characters)
    : tokenizer(std::make_shared<CharTokenizer>(std::move(characters))) {}

std::vector<std::int64_t> MarkedVocabulary::encode(std::string_view text,
                                                   std::string_view what) const {
    const bool spaced = has_pieces(*tokenizer) && !text.empty();
    std::vector<std::int64_t> ids =
        tokenizer->encode(spaced ? " " + std::string(text) : text, what);
    for (std::int64_t& id : ids) id += first;
    return ids;
}

std::string MarkedVocabulary::decode(std::span<const std::int64_t> ids) const {
    std::vector<std::int64_t> tokens;
    for (const std::int64_t id : ids) {
        if (id >= first) tokens.push_back(id - first);
    }
    std::string text = repaired(tokenizer->decode(tokens));
    if (has_pieces(*tokenizer) && text.starts_with(' ')) text.erase(0, 1);
    return text;
}

std::string MarkedVocabulary::text_of(std::int64_t id) const {
    id -= first;
    return repaired(tokenizer->decode({&id, 1}));
}

std::string MarkedVocabulary::name_of(std::int64_t id) const {
    if (id >= first) return text_of(id);
    return id == begin ? "[begin]" : id == end ? "[end]" : "[padding]";
}

}  // namespace tapestry
