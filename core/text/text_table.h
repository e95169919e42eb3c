// Tables of text for a terminal, and how wide a text is there.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tapestry::terminal {

/// Columns of a terminal that a text in UTF-8 takes: unicode::width_of, summed up.
int columns_of(std::string_view text);

/// `text` and blanks to fill up `columns`; blanks stand before it if it is `right`.
std::string padded(std::string_view text, int columns, bool right = false);

/// A line for each row of cells, which are as wide as the widest of their column, two blanks apart;
/// `sides` has 'l' or 'r' for each column.
std::string text_table(const std::vector<std::vector<std::string>>& rows, std::string_view sides,
                       std::string_view indent = "");

}  // namespace tapestry::terminal
