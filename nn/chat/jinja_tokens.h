// The tokens of a program in Jinja. Internal to nn/chat. Read next: jinja_parser.h.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tapestry::jinja {

/// A piece of the program, in order. Comments are none.
struct Token {
    enum class Kind {
        text,          ///< outside tags: written as it is
        open_output,   ///< {{
        close_output,  ///< }}
        open_block,    ///< {%
        close_block,   ///< %}
        name,          ///< set, messages, trim
        string,        ///< without its quotes and escapes
        integer,       ///< 12, 1_000
        real,          ///< 1.5, 1e3
        sign,          ///< + == ( |
        end            ///< of the program
    };
    Kind kind;
    std::string text = {};
    std::int64_t line = 1;  ///< where it begins

    /// Whether it is this sign or name.
    bool is(std::string_view wanted) const {
        return (kind == Kind::sign || kind == Kind::name) && text == wanted;
    }
};

/// Cuts a program into tokens, with the white space that transformers leaves (trim_blocks and
/// lstrip_blocks): a line break after a block and blanks in front of one at the beginning of a line
/// are not written. Throws JinjaError for a tag, string or comment that is not closed, and for a
/// character that begins nothing.
/// Source: jinja.palletsprojects.com, Template Designer Documentation, "Whitespace Control".
std::vector<Token> tokens_of(std::string_view program);

}  // namespace tapestry::jinja
