// Both the vocabulary and its inverse are arrays, so a look-up is one load. JSON stays inside this
// file: users of the library need not have nlohmann-json installed.
#include <tapestry/nn/data/tokenizer.h>

#include <tapestry/core/checksum.h>
#include <tapestry/core/text/json_tree.h>
#include <tapestry/core/text/json_writer.h>
#include <tapestry/core/text/utf8.h>

#include <algorithm>
#include <utility>

namespace tapestry {
namespace {

char32_t vocab_entry(const JsonNode& entry, std::size_t id) {
    require(entry.is(JsonKind::string), "tokenizer: vocab entry {} is {}, not a string", id,
            name_of(entry.kind()));
    const auto text = entry.get<std::string>();
    const std::u32string characters = utf8::decode("tokenizer", text);
    require(characters.size() == 1, "tokenizer: vocab entry {} is {}, {} characters instead of one",
            id, utf8::quoted(text, 20), characters.size());
    return characters[0];
}

JsonTree parse(std::string_view text) {
    // The parser would take a 0 byte for the end of the text and skip a byte order mark.
    const std::size_t zero = text.find('\0');
    require(zero == std::string_view::npos, "tokenizer: byte {} of the JSON is 0", zero);
    try {
        return JsonTree(text);
    } catch (const JsonError& error) {
        fail("tokenizer: {}", error.what());
    }
}

}  // namespace

std::vector<std::int64_t> Tokenizer::encode(std::string_view text, std::string_view what) const {
    std::vector<std::int64_t> ids;
    encode_piece({.text = text, .what = what}, ids);
    return ids;
}

void Tokenizer::begin_text(std::vector<std::int64_t>& ids, std::size_t at) const {
    const auto first = begin_of_text();
    const bool has_it = at < ids.size() && ids[at] == first;
    if (first && !has_it) ids.insert(ids.begin() + static_cast<std::ptrdiff_t>(at), *first);
}

CharTokenizer::CharTokenizer(std::u32string vocab) : vocab_(std::move(vocab)) {
    require(!vocab_.empty(), "tokenizer: the vocabulary is empty");
    const char32_t last = *std::max_element(vocab_.begin(), vocab_.end());
    require(last <= 0x10FFFF, "tokenizer: U+{:04X} is not a character",
            static_cast<unsigned>(last));
    ids_.assign(last + std::size_t{1}, -1);
    std::int32_t id = 0;
    for (const char32_t character : vocab_) {
        require(ids_[character] < 0,
                "tokenizer: character '{}' (U+{:04X}) appears twice in the vocabulary",
                utf8::printable(character), static_cast<unsigned>(character));
        ids_[character] = id++;
    }
}

CharTokenizer CharTokenizer::from_text(std::string_view text) {
    require(!text.empty(),
            "tokenizer: the text is empty, so there are no characters to make tokens from");
    if (const auto flaw = utf8::find_flaw(text)) {
        fail("tokenizer: the text is not UTF-8 at byte {}: {}", flaw->byte, flaw->what);
    }
    std::vector<bool> occurs(0x110000);
    for (std::size_t at = 0; at < text.size();) {
        const utf8::Step here = utf8::step(text, at);
        occurs[here.code] = true;
        at += here.bytes;
    }
    std::u32string vocab;
    for (char32_t code = 0; code < occurs.size(); ++code) {
        if (occurs[code]) vocab.push_back(code);
    }
    return CharTokenizer(std::move(vocab));
}

CharTokenizer CharTokenizer::from_json(std::string_view text) {
    const JsonTree tree = parse(text);
    const JsonNode parsed = tree.root();
    require(parsed.is(JsonKind::object), "tokenizer: the JSON is {}, not an object",
            name_of(parsed.kind()));
    const auto type = parsed.find("type");
    require(type && type->is(JsonKind::string), "tokenizer: no \"type\"; needs \"char\"");
    const auto name = type->get<std::string>();
    require(name == "char", "tokenizer: type is {}; only 'char' is supported", utf8::quoted(name));
    const auto entries = parsed.find("vocab");
    require(entries && entries->is(JsonKind::array),
            "tokenizer: no \"vocab\", a list of characters");
    std::u32string vocab;
    for (const JsonNode& entry : entries->elements()) {
        vocab.push_back(vocab_entry(entry, vocab.size()));
    }
    return CharTokenizer(std::move(vocab));
}

std::string CharTokenizer::to_json() const {
    JsonWriter json;
    json.object([&] {
        json.member("type", "char");
        json.list("vocab", vocab_,
                  [&](char32_t character) { json.value(utf8::encode(character)); });
    });
    return json.text();
}

std::int64_t CharTokenizer::beginning() const {
    if (const auto end = end_of_text()) return *end;
    return std::max(0, id_of(U'\n'));
}

std::optional<std::int64_t> CharTokenizer::end_of_text() const {
    const std::int32_t id = id_of(kEndOfText);
    return id < 0 ? std::nullopt : std::optional<std::int64_t>(id);
}

void CharTokenizer::encode_piece(const TextPiece& piece, std::vector<std::int64_t>& ids) const {
    const std::string_view text = piece.text;
    const std::size_t before = ids.size();
    ids.reserve(before + text.size());
    for (std::size_t at = 0; at < text.size();) {
        const auto byte = static_cast<unsigned char>(text[at]);
        const utf8::Step here = byte < 0x80 ? utf8::Step{byte} : utf8::step(text, at);
        if (here.flaw != nullptr) {
            fail("{}: not UTF-8 at byte {}: {}", piece.what, at, utf8::find_flaw(text)->what);
        }
        const std::int32_t id = id_of(here.code);
        if (id < 0) {
            fail("{}: character '{}' (U+{:04X}) at position {} is not in the model's vocabulary",
                 piece.what, utf8::printable(here.code), static_cast<unsigned>(here.code),
                 piece.position + static_cast<std::int64_t>(ids.size() - before));
        }
        ids.push_back(id);
        at += here.bytes;
    }
}

std::string CharTokenizer::decode(std::span<const std::int64_t> ids) const {
    std::string text;
    text.reserve(ids.size());
    for (std::size_t i = 0; i < ids.size(); ++i) {
        require<IndexError>(ids[i] >= 0 && ids[i] < vocab_size(),
                            "decode: id {} at position {} is outside the vocabulary of {}", ids[i],
                            i, vocab_size());
        utf8::append(text, vocab_[static_cast<std::size_t>(ids[i])]);
    }
    return text;
}

std::string CharTokenizer::hash() const { return checksum_of(to_json()); }

}  // namespace tapestry
