// Tokens made fit for a terminal's rows and columns: nothing invisible, no control sequences, and
// of known width. Read next: text_map.h, which uses them as labels.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tapestry::terminal {

/// Terminal columns of a UTF-8 text: the sum of unicode::width_of.
int columns_of(std::string_view text);

/// The displayable characters of a token, each with its combining marks: "\n" for a newline, "\xE9"
/// for a byte that is not UTF-8, "_" for a space if there are only spaces, a dotted circle under
/// marks that follow no character.
std::vector<std::string> shown_characters(std::string_view token);

/// The same as one string. Cut to `most` columns, ending with "..", if it is longer.
std::string label_of(std::string_view token, int most);

/// `text` padded with spaces to `columns`; spaces come first if `right`.
std::string padded(std::string_view text, int columns, bool right = false);

/// The line without trailing spaces, and a newline.
std::string line_of(std::string line);

}  // namespace tapestry::terminal
