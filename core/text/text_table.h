// Tables of text for a terminal, and how wide a text is there.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tapestry::terminal {

/// Terminal columns of a UTF-8 text: the sum of unicode::width_of.
int columns_of(std::string_view text);

/// `text` padded with blanks to `columns`, on its left if `right`.
std::string padded(std::string_view text, int columns, bool right = false);

/// One line per row. Columns are as wide as their widest cell and two blanks apart; `sides` has 'l'
/// or 'r' for each. Every line begins with `indent`.
std::string text_table(const std::vector<std::vector<std::string>>& rows, std::string_view sides,
                       std::string_view indent = "");

}  // namespace tapestry::terminal
