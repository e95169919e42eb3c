// The words of a chat template's program (Jinja), as far as needed to recognise it; it is not run.
// Internal to nn/data. Read next: chat_template.h.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tapestry {

/// A piece of the program, in order. Comments are none, nor are blanks inside code.
struct JinjaPiece {
    enum class Kind {
        text,     ///< outside code: written as it is
        literal,  ///< a string in code, without its quotes and escapes
        name,     ///< set, messages, role, trim
        begin,    ///< of code: {{ or {%
        end,      ///< of code
        sign      ///< any other character of code
    };
    Kind kind;
    std::string text;

    /// Whether it can be written: text or a literal.
    bool is_written() const { return kind == Kind::text || kind == Kind::literal; }
};

/// Cuts a program. A string or tag that is not closed ends with the program.
std::vector<JinjaPiece> jinja_pieces(std::string_view program);

/// Without what a program writes only for tools: {% if tools %}, up to its else.
std::vector<JinjaPiece> without_tools(const std::vector<JinjaPiece>& pieces);

/// The system message that a program writes by itself: what a literal or the text has between
/// `header` and `end` (its last line break, if that is empty), or the literal that a variable
/// begins with or is replaced by. Empty: none.
std::string written_system(const std::vector<JinjaPiece>& pieces, std::string_view header,
                           std::string_view end);

}  // namespace tapestry
