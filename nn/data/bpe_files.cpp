// Reads and writes the tokenizer's two files. Reading checks everything that encoding relies on.
#include <tapestry/nn/data/bpe.h>

#include <tapestry/core/text/json_tree.h>
#include <tapestry/core/text/utf8.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace tapestry {
namespace {

// Printable Latin-1 characters, which represent themselves.
constexpr bool is_visible(char32_t byte) {
    return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

// The character that represents each byte.
constexpr std::array<char32_t, 256> kCharacters = [] {
    std::array<char32_t, 256> characters{};
    char32_t next = 0x100;
    for (char32_t byte = 0; byte < 256; ++byte) {
        characters[byte] = is_visible(byte) ? byte : next++;
    }
    return characters;
}();

// The inverse; -1 for a character that represents no byte.
constexpr std::array<int, 0x144> kBytes = [] {
    std::array<int, 0x144> bytes{};
    for (int& byte : bytes) byte = -1;
    for (std::size_t byte = 0; byte < 256; ++byte) {
        bytes[kCharacters[byte]] = static_cast<int>(byte);
    }
    return bytes;
}();

// Bytes as the files represent them.
std::string written(std::string_view bytes) {
    std::string text;
    for (const char byte : bytes) {
        utf8::append(text, kCharacters[static_cast<unsigned char>(byte)]);
    }
    return text;
}

// Parses {"token": id, ...} and nothing else, without building a tree, and detects duplicates.
class VocabParser final : public JsonHandler {
public:
    explicit VocabParser(const std::string& file) : file_(file) {}

    std::unordered_map<std::string, std::uint64_t> ids;  // by token, as written in the file

    void number(std::uint64_t value) override {
        if (!open_) unexpected("a number");
        if (!ids.emplace(token_, value).second) {
            fail("{}: token {} appears twice", file_, utf8::quoted(token_));
        }
    }
    void begin_object() override {
        if (open_) unexpected("an object");
        open_ = true;
    }
    void name(const std::string& name) override { token_ = name; }
    void end_object() override {}
    void null() override { unexpected("null"); }
    void boolean(bool value) override { unexpected(value ? "true" : "false"); }
    void negative_number(std::int64_t value) override { unexpected(fmt::format("{}", value)); }
    void real_number(const std::string& text) override { unexpected(text.substr(0, 40)); }
    void string(const std::string& value) override { unexpected(utf8::quoted(value, 40)); }
    void begin_array() override { unexpected("a list"); }
    void end_array() override {}

private:
    [[noreturn]] void unexpected(const std::string& found) const {
        require(open_, "{}: expected an object of tokens and ids, got {}", file_, found);
        fail("{}: the id of {} is {}", file_, utf8::quoted(token_), found);
    }

    const std::string& file_;
    bool open_ = false;
    std::string token_;
};

void check_text(std::string_view text, const std::string& name) {
    if (const auto flaw = utf8::find_flaw(text)) {
        fail("{}: not UTF-8 at byte {}: {}", name, flaw->byte, flaw->what);
    }
    // The JSON parser would take a 0 byte for the end of the text.
    const std::size_t zero = text.find('\0');
    require(zero == std::string_view::npos, "{}: byte {} is 0", name, zero);
}

// {"the": 262, ...}
std::unordered_map<std::string, std::uint64_t> read_ids(std::string_view text,
                                                        const std::string& name) {
    check_text(text, name);
    VocabParser parser(name);
    try {
        handle_json(text, parser);
    } catch (const JsonSyntaxError& error) {
        fail("{}: not JSON: error at byte {}", name, error.byte);
    }
    return std::move(parser.ids);
}

}  // namespace

std::string BytePairTokenizer::bytes_of(std::string_view token, const std::string& place) {
    std::string bytes;
    for (const char32_t character : utf8::decode(place, token)) {
        const int byte = character < kBytes.size() ? kBytes[character] : -1;
        if (byte < 0) {
            fail("{}: {} has the character '{}' (U+{:04X}), which does not represent a byte", place,
                 utf8::quoted(token), utf8::printable(character), static_cast<unsigned>(character));
        }
        bytes.push_back(static_cast<char>(byte));
    }
    return bytes;
}

BytePairTokenizer BytePairTokenizer::from_text(std::string_view vocab, std::string_view merges,
                                               const Names& names, std::string_view added) {
    BytePairTokenizer tokenizer;
    tokenizer.read_vocab(vocab, names.vocab);
    tokenizer.read_merges(merges, names);
    tokenizer.in_vocabulary_ = tokenizer.bytes_.size();
    tokenizer.find_boundaries();
    if (!added.empty()) tokenizer.read_added(added, names.added);
    return tokenizer;
}

BytePairTokenizer BytePairTokenizer::from_tokens(std::vector<std::string> tokens,
                                                 const Merges& merges, const Rules& rules) {
    BytePairTokenizer tokenizer;
    tokenizer.rules_ = rules;
    tokenizer.one_at_a_time_ = true;
    tokenizer.bytes_ = std::move(tokens);
    tokenizer.ids_.reserve(tokenizer.bytes_.size());
    for (std::size_t id = 0; id < tokenizer.bytes_.size(); ++id) {
        const std::string& bytes = tokenizer.bytes_[id];
        if (bytes.empty() || tokenizer.ids_.emplace(bytes, static_cast<Id>(id)).second) continue;
        fail("byte pairs: token {} appears twice", utf8::quoted(bytes));
    }
    for (std::size_t byte = 0; byte < 256; ++byte) {
        const Id id = tokenizer.id_of(std::string(1, static_cast<char>(byte)));
        tokenizer.byte_ids_[byte] = id;
        tokenizer.lacks_bytes_ |= id < 0;
    }
    for (const auto& [left, right] : merges) {
        const Pair pair{tokenizer.id_of(left), tokenizer.id_of(right)};
        const Id result = tokenizer.id_of(left + right);
        if (pair.left < 0 || pair.right < 0 || result < 0) {
            fail("byte pairs: {}, {} and both together are not all tokens", utf8::quoted(left),
                 utf8::quoted(right));
        }
        const auto rank = static_cast<std::uint32_t>(tokenizer.pairs_.size());
        if (!tokenizer.insert_merge(pair, {rank, result})) {
            fail("byte pairs: the pair of {} and {} appears twice", utf8::quoted(left),
                 utf8::quoted(right));
        }
        tokenizer.pairs_.push_back(pair);
    }
    tokenizer.in_vocabulary_ = tokenizer.bytes_.size();
    tokenizer.find_boundaries();
    return tokenizer;
}

void BytePairTokenizer::read_vocab(std::string_view text, const std::string& name) {
    const auto ids = read_ids(text, name);
    const std::size_t count = ids.size();
    require(count <= static_cast<std::size_t>(std::numeric_limits<Id>::max()), "{}: {} tokens",
            name, count);
    std::vector<const std::string*> tokens(count);
    for (const auto& [token, id] : ids) {
        if (id >= count) {
            fail("{}: token {} has the id {}; {} tokens have the ids 0 .. {}", name,
                 utf8::quoted(token), id, count, count - 1);
        }
        const std::string*& place = tokens[static_cast<std::size_t>(id)];
        if (place != nullptr) {
            fail("{}: {} and {} have the same id {}", name, utf8::quoted(std::min(*place, token)),
                 utf8::quoted(std::max(*place, token)), id);
        }
        place = &token;
    }
    for (const std::string* token : tokens) {
        bytes_.push_back(bytes_of(*token, fmt::format("{}: id {}", name, bytes_.size())));
        require(!bytes_.back().empty(), "{}: id {} is an empty token", name, bytes_.size() - 1);
        ids_.emplace(bytes_.back(), static_cast<Id>(bytes_.size() - 1));
    }
    for (std::size_t byte = 0; byte < byte_ids_.size(); ++byte) {
        const std::string token(1, static_cast<char>(byte));
        byte_ids_[byte] = id_of(token);
        require(byte_ids_[byte] >= 0, "{}: the byte 0x{:02X} has no token: {} is missing", name,
                byte, utf8::quoted(written(token)));
    }
    const Id end = id_of(kEndOfText);
    if (end >= 0) {
        end_of_text_ = end;
        marks_.add(std::string(kEndOfText), end);
    }
}

void BytePairTokenizer::read_added(std::string_view text, const std::string& name) {
    const auto ids = read_ids(text, name);
    std::vector<std::pair<std::uint64_t, std::string>> sorted;
    for (const auto& [token, id] : ids) sorted.emplace_back(id, token);
    std::sort(sorted.begin(), sorted.end());
    for (const auto& [id, token] : sorted) {
        require(!token.empty(), "{}: id {} is an empty token", name, id);
        const bool is_known = id_of(token) >= 0 && std::cmp_equal(id_of(token), id);
        require(is_known || (id == bytes_.size() && id_of(token) < 0),
                "{}: token {} has the id {}; the ids after the vocabulary's {} tokens must be "
                "consecutive",
                name, utf8::quoted(token), id, in_vocabulary_);
        if (!is_known) add_token(token);
        if (token == kEndOfText) end_of_text_ = static_cast<std::int64_t>(id);
        marks_.add(token, static_cast<std::int64_t>(id));
    }
}

void BytePairTokenizer::read_merges(std::string_view text, const Names& names) {
    check_text(text, names.merges);
    std::size_t number = 0;
    while (!text.empty()) {
        ++number;
        const std::size_t length = std::min(text.find('\n'), text.size());
        std::string_view line = text.substr(0, length);
        text.remove_prefix(std::min(length + 1, text.size()));
        if (line.ends_with('\r')) line.remove_suffix(1);
        const bool is_version = number == 1 && line.starts_with("#version");
        const bool is_end = line.empty() && text.empty();
        if (!is_version && !is_end) add_merge(line, number, names);
    }
}

void BytePairTokenizer::add_merge(std::string_view line, std::size_t number, const Names& names) {
    const std::string place = fmt::format("{}: line {}", names.merges, number);
    const std::size_t space = line.find(' ');
    const bool is_pair = space != std::string_view::npos && space > 0 && space + 1 < line.size() &&
                         line.find(' ', space + 1) == std::string_view::npos;
    require(is_pair, "{}: {} is not two tokens with a space between", place, utf8::quoted(line));
    const std::string left = bytes_of(line.substr(0, space), place);
    const std::string right = bytes_of(line.substr(space + 1), place);
    for (const std::string& token : {left, right, left + right}) {
        require(id_of(token) >= 0, "{}: {} is not in {}", place, utf8::quoted(written(token)),
                names.vocab);
    }
    const Pair pair{id_of(left), id_of(right)};
    const auto rank = static_cast<std::uint32_t>(pairs_.size());
    const Merge merge{rank, id_of(left + right)};
    require(insert_merge(pair, merge), "{}: the pair {} appears twice", place, utf8::quoted(line));
    pairs_.push_back(pair);
}

std::string BytePairTokenizer::added_json() const {
    std::string text;
    for (const auto& [token, id] : marks_.list()) {
        if (token == kEndOfText && static_cast<std::size_t>(id) < in_vocabulary_) continue;
        text += fmt::format("{}{}: {}", text.empty() ? "{" : ", ", json_text(token), id);
    }
    return text.empty() ? text : text + "}\n";
}

std::string BytePairTokenizer::vocab_json() const {
    std::string text = "{";
    for (std::size_t id = 0; id < in_vocabulary_; ++id) {
        text += fmt::format("{}{}: {}", id == 0 ? "" : ", ", json_text(written(bytes_[id])), id);
    }
    return text + "}\n";
}

std::string BytePairTokenizer::merges_text() const {
    std::string text = "#version: 0.2\n";
    for (const Pair& pair : pairs_) {
        text += written(bytes_[static_cast<std::size_t>(pair.left)]) + " " +
                written(bytes_[static_cast<std::size_t>(pair.right)]) + "\n";
    }
    return text;
}

}  // namespace tapestry
