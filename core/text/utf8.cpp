// The decoder reads one character at a time and reports why it cannot; everything else builds on
// it.
#include <tapestry/core/text/utf8.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <iterator>

namespace tapestry::utf8 {
namespace {

constexpr char32_t kLast = 0x10FFFF;

unsigned byte_at(std::string_view text, std::size_t at) {
    return static_cast<unsigned char>(text[at]);
}

// The length that a first byte announces; 0 if it cannot begin a character.
std::size_t announced(unsigned first) {
    if (first < 0x80) return 1;
    if (first >= 0xC0 && first < 0xE0) return 2;
    if (first >= 0xE0 && first < 0xF0) return 3;
    if (first >= 0xF0 && first < 0xF8) return 4;
    return 0;
}

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

// Whether further bytes could complete `text` from `at` on to a character.
bool is_unfinished(std::string_view text, std::size_t at) {
    const Step here = step(text, at);
    return here.flaw != nullptr && at + here.bytes == text.size() &&
           here.bytes < announced(byte_at(text, at));
}

// Whether at least eight bytes follow, all of them ASCII.
bool is_ascii(std::string_view text, std::size_t at) {
    if (text.size() - at < 8) return false;
    std::uint64_t bytes = 0;
    std::memcpy(&bytes, text.data() + at, 8);
    return (bytes & 0x8080808080808080U) == 0;
}

bool is_surrogate(char32_t code) { return code >= 0xD800 && code <= 0xDFFF; }

// Ranges (first, last) of characters that are invisible, move the text around, or have no meaning
// outside private agreement: Unicode's Cc, Cf (the common ones), Zl, Zp, Co, and the unusual
// spaces.
constexpr std::array<std::array<char32_t, 2>, 16> kUnprintable{{{0x00, 0x1F},
                                                                {0x7F, 0xA0},
                                                                {0xAD, 0xAD},
                                                                {0x061C, 0x061C},
                                                                {0x180E, 0x180E},
                                                                {0x2000, 0x200F},
                                                                {0x2028, 0x202F},
                                                                {0x205F, 0x206F},
                                                                {0x3000, 0x3000},
                                                                {0xE000, 0xF8FF},
                                                                {0xFDD0, 0xFDEF},
                                                                {0xFE00, 0xFE0F},
                                                                {0xFEFF, 0xFEFF},
                                                                {0xFFF0, 0xFFFB},
                                                                {0xFFFE, 0xFFFF},
                                                                {0xE0000, kLast}}};

// Of these, the characters that a terminal obeys or that reorder text: Unicode's Cc, the
// bidirectional controls (Bidi_Control, and the deprecated U+206A to U+206F), Zl and Zp.
constexpr std::array<std::array<char32_t, 2>, 6> kCommands{{{0x00, 0x1F},
                                                            {0x7F, 0x9F},
                                                            {0x061C, 0x061C},
                                                            {0x200E, 0x200F},
                                                            {0x2028, 0x202E},
                                                            {0x2066, 0x206F}}};

template <std::size_t N>
bool is_in(const std::array<std::array<char32_t, 2>, N>& ranges, char32_t code) {
    return std::any_of(ranges.begin(), ranges.end(),
                       [code](const auto& range) { return code >= range[0] && code <= range[1]; });
}

bool is_printable(char32_t code) { return !is_in(kUnprintable, code); }

bool is_harmless(char32_t code) {
    return code == U'\n' || code == U'\t' || !is_in(kCommands, code);
}

// Appends the character at byte `at`, escaped unless `stays(code)`, or an escape for a byte that is
// not UTF-8. Returns the position of the next one.
template <class Stays>
std::size_t append_shown(std::string& shown, std::string_view text, std::size_t at,
                         const Stays& stays) {
    const Step here = step(text, at);
    if (here.flaw != nullptr) {
        fmt::format_to(std::back_inserter(shown), "\\x{:02X}", byte_at(text, at));
        return at + 1;
    }
    shown += stays(here.code) ? text.substr(at, here.bytes) : printable(here.code);
    return at + here.bytes;
}

}  // namespace

Step step(std::string_view text, std::size_t at) {
    const unsigned first = byte_at(text, at);
    if (first < 0x80) return {first, 1, nullptr};
    if (first < 0xC0) return {0, 1, "is an unexpected continuation byte"};
    const std::size_t length = announced(first);
    if (length == 0) return {0, 1, "cannot begin a character"};
    char32_t code = first & (0xFFu >> (length + 1));
    for (std::size_t i = 1; i < length; ++i) {
        if (at + i == text.size())
            return {0, i, "begins a character that the end of the text cuts off"};
        const unsigned next = byte_at(text, at + i);
        if ((next & 0xC0u) != 0x80u) return {0, i, "lacks its continuation bytes"};
        code = (code << 6) | (next & 0x3Fu);
    }
    constexpr std::array<char32_t, 5> kSmallest{0, 0, 0x80, 0x800, 0x10000};
    if (code < kSmallest[length]) return {0, length, "begins an overlong form"};
    if (is_surrogate(code)) return {0, length, "begins a surrogate, which is not a character"};
    if (code > kLast) return {0, length, "begins a number beyond U+10FFFF"};
    return {code, length, nullptr};
}

std::optional<Flaw> find_flaw(std::string_view text) {
    for (std::size_t at = 0; at < text.size();) {
        if (is_ascii(text, at)) {
            at += 8;
            continue;
        }
        const Step here = step(text, at);
        if (here.flaw != nullptr) {
            return Flaw{at, fmt::format("byte 0x{:02X} {}", byte_at(text, at), here.flaw)};
        }
        at += here.bytes;
    }
    return std::nullopt;
}

std::u32string decode(std::string_view what, std::string_view text) {
    if (const auto flaw = find_flaw(text)) {
        fail("{}: not UTF-8 at byte {}: {}", what, flaw->byte, flaw->what);
    }
    std::u32string characters;
    for (std::size_t at = 0; at < text.size();) {
        const Step here = step(text, at);
        characters.push_back(here.code);
        at += here.bytes;
    }
    return characters;
}

void append(std::string& text, char32_t code) {
    require(code <= kLast && !is_surrogate(code), "utf8: U+{:04X} is not a character",
            static_cast<unsigned>(code));
    if (code < 0x80) {
        text.push_back(static_cast<char>(code));
        return;
    }
    const unsigned length = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    const unsigned mark = (0xFF00u >> length) & 0xFFu;  // one leading 1 bit per byte
    text.push_back(static_cast<char>(mark | (code >> (6 * (length - 1)))));
    for (unsigned i = length - 1; i-- > 0;) {
        text.push_back(static_cast<char>(0x80u | ((code >> (6 * i)) & 0x3Fu)));
    }
}

std::string encode(char32_t code) {
    std::string text;
    append(text, code);
    return text;
}

std::string printable(char32_t code) {
    switch (code) {
        case U'\n': return "\\n";
        case U'\r': return "\\r";
        case U'\t': return "\\t";
        case U' ': return " ";
        default: break;
    }
    if (code > kLast || is_surrogate(code) || !is_printable(code)) {
        return fmt::format("\\u{{{:X}}}", static_cast<unsigned>(code));
    }
    return encode(code);
}

std::string quoted(std::string_view text, std::size_t limit) {
    std::string result = "'";
    std::size_t count = 0;
    for (std::size_t at = 0; at < text.size(); ++count) {
        if (count == limit) {
            result += "...";
            break;
        }
        at = append_shown(result, text, at, is_printable);
    }
    return result + "'";
}

std::string printable(std::string_view text) {
    std::string result;
    for (std::size_t at = 0; at < text.size();) at = append_shown(result, text, at, is_printable);
    return result;
}

std::string for_terminal(std::string_view text) {
    std::string result;
    result.reserve(text.size());
    for (std::size_t at = 0; at < text.size();) at = append_shown(result, text, at, is_harmless);
    return result;
}

// JSON contains no character that is escaped here, except in its strings.
std::string json_for_terminal(std::string_view json) {
    std::string result;
    result.reserve(json.size());
    for (std::size_t at = 0; at < json.size();) {
        const Step here = step(json, at);
        if (here.flaw != nullptr) {
            result += kReplacement;
        } else if (is_harmless(here.code)) {
            result += json.substr(at, here.bytes);
        } else {
            fmt::format_to(std::back_inserter(result), "\\u{:04x}",
                           static_cast<unsigned>(here.code));
        }
        at += here.bytes;
    }
    return result;
}

std::string Stream::push(std::string_view bytes) {
    waiting_ += bytes;
    std::string whole;
    std::size_t at = 0;
    while (at < waiting_.size() && !is_unfinished(waiting_, at)) {
        const Step here = step(waiting_, at);
        whole +=
            here.flaw == nullptr ? std::string_view(waiting_).substr(at, here.bytes) : kReplacement;
        at += here.bytes;
    }
    waiting_.erase(0, at);
    return whole;
}

std::string Stream::finish() {
    const bool nothing = waiting_.empty();
    waiting_.clear();
    return std::string(nothing ? "" : kReplacement);
}

}  // namespace tapestry::utf8
