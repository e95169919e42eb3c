// Everything that a program prints. Strings from files may hold anything, and a stranger's file
// must not control the user's terminal: these functions escape what they print
// (utf8::for_terminal), whether stdout is a terminal or not. On a terminal verdicts, headings and
// errors have colours, unless NO_COLOR is set (no-color.org) or TERM is "dumb".
#pragma once

#include <fmt/core.h>

#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

namespace tapestry::cli {

/// Throws IoError if it cannot be written.
void print_text(std::string_view text);

/// The same for --help, with bold headings on a terminal.
void print_help(std::string_view text);

/// Formats with fmt, then prints.
template <class... Args>
void print(fmt::format_string<Args...> format, Args&&... args) {
    print_text(fmt::format(format, std::forward<Args>(args)...));
}

/// Prints JSON text and a newline; the value does not change.
void print_json(std::string_view json);

/// Prints, and never throws on a failed write: a training run must not end because its output has
/// no reader. Options::main reports a failed stdout at the end.
void say(std::string_view text, std::FILE* to = stdout);

/// The same for text that a model wrote: escaped if stdout is a terminal; byte for byte in a file
/// or a pipe, where it is data.
void say_sample(std::string_view text);

/// Like say(), but without escaping, which a program's own control characters need.
void say_raw(std::string_view text, std::FILE* to = stdout);

/// Prints "PROGRAM: MESSAGE" as one line on stderr. Never throws on a failed write.
void say_error(std::string_view program, std::string_view message);

}  // namespace tapestry::cli
