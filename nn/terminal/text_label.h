// Tokens made fit for a terminal's rows and columns: nothing invisible, no control sequences, and
// of known width. Read next: text_map.h, which uses them as labels.
#pragma once

#include <tapestry/core/text/text_table.h>

#include <string>
#include <string_view>
#include <vector>

namespace tapestry::terminal {

/// The characters of a token, each with the marks that join it, as they can be shown: "\n" for a
/// line's end, "\xE9" for a byte that is no UTF-8, "_" for a blank among nothing but blanks, a
/// dotted circle under marks that have nothing to join.
std::vector<std::string> shown_characters(std::string_view token);

/// The same as one string. Cut to `most` columns, ending with "..", if it is longer.
std::string label_of(std::string_view token, int most);

/// The line without blanks at its end, and its end.
std::string line_of(std::string line);

}  // namespace tapestry::terminal
