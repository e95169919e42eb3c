// Strict UTF-8: every text that enters the library passes through here, and anything that is not
// UTF-8 is rejected with position and reason, without guessing.
//
// Source: RFC 3629. Overlong forms, surrogates and numbers beyond U+10FFFF are not characters.
#pragma once

#include <tapestry/core/error.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace tapestry::utf8 {

/// U+FEFF in UTF-8, with which some programs begin a file.
inline constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

/// Bytes of the byte order mark that `text` begins with: 3, or 0 if there is none.
constexpr std::size_t mark_bytes(std::string_view text) {
    return text.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
}

/// One step through a text: the character and its length in bytes, or the reason why there is none.
struct Step {
    char32_t code = 0;           ///< the character; 0 if there is none
    std::size_t bytes = 1;       ///< length of the character, or of what is wrong: 1 to 4
    const char* flaw = nullptr;  ///< what is wrong here; nullptr for a character
};

/// The character that begins at byte `at`, which must be inside the text. Never reads past its end.
Step step(std::string_view text, std::size_t at);

/// The first place that is not UTF-8.
struct Flaw {
    std::size_t byte = 0;  ///< counted from 0
    std::string what;      ///< "byte 0xE9 lacks its continuation bytes"
};

/// The first flaw; nullopt if all of `text` is UTF-8.
std::optional<Flaw> find_flaw(std::string_view text);

/// Decodes all characters. Throws ValueError in the name of `what`, with the byte offset and the
/// reason.
std::u32string decode(std::string_view what, std::string_view text);

/// Appends one character. Throws ValueError if `code` is not one: a surrogate, or above U+10FFFF.
void append(std::string& text, char32_t code);

/// One character as UTF-8. Throws as append does.
std::string encode(char32_t code);

/// The character in a form that is safe to show: itself, or an escape ("\n", "\u{200B}") if it
/// would be invisible or would control the terminal.
std::string printable(char32_t code);

/// `text` between single quotes, made printable, cut after `limit` characters: how messages show
/// names that come from files. Accepts any bytes; those that are not UTF-8 appear as "\xE9".
std::string quoted(std::string_view text, std::size_t limit = 80);

/// `text` for use within one line of output: each character as printable(char32_t) shows it, bytes
/// that are not UTF-8 as "\xE9". Newlines are escaped as well: a string from a file cannot start a
/// new line.
std::string printable(std::string_view text);

/// `text`, which may contain any bytes, made safe to send to a terminal. Keeps "\n", "\t" and every
/// harmless character: letters of any script with their marks, emoji with their joiners and
/// variation selectors. Escapes, in the notation of printable(), everything that could control the
/// terminal or reorder a line: the other control characters (C0, DEL, C1), the bidirectional
/// controls, the separators U+2028 and U+2029, and bytes that are not UTF-8.
std::string for_terminal(std::string_view text);

/// The same for JSON text, whose value stays the same: "\u007f". Bytes that are not UTF-8 become
/// U+FFFD.
std::string json_for_terminal(std::string_view json);

/// Turns bytes that arrive in pieces into whole characters: a token of a byte-level tokenizer may
/// end inside one. Bytes that are not UTF-8 become U+FFFD.
class Stream {
public:
    /// The characters completed by these bytes; the start of another one is kept for the next call.
    std::string push(std::string_view bytes);
    /// At the end: U+FFFD if an incomplete character remains, otherwise nothing.
    std::string finish();

private:
    std::string waiting_;
};

}  // namespace tapestry::utf8
