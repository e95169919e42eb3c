#include <tapestry/core/text/text_table.h>

#include <tapestry/core/text/unicode.h>
#include <tapestry/core/text/utf8.h>

#include <algorithm>

namespace tapestry::terminal {

int columns_of(std::string_view text) {
    int columns = 0;
    for (std::size_t at = 0; at < text.size();) {
        const utf8::Step here = utf8::step(text, at);
        columns += here.flaw == nullptr ? unicode::width_of(here.code) : 1;
        at += here.bytes;
    }
    return columns;
}

std::string padded(std::string_view text, int columns, bool right) {
    const std::string blanks(static_cast<std::size_t>(std::max(0, columns - columns_of(text))),
                             ' ');
    return right ? blanks + std::string(text) : std::string(text) + blanks;
}

std::string text_table(const std::vector<std::vector<std::string>>& rows, std::string_view sides,
                       std::string_view indent) {
    std::vector<int> widths(sides.size());
    for (const auto& row : rows) {
        for (std::size_t c = 0; c < row.size(); ++c) {
            widths[c] = std::max(widths[c], columns_of(row[c]));
        }
    }
    std::string text;
    for (const auto& row : rows) {
        text += indent;
        for (std::size_t c = 0; c < row.size(); ++c) {
            text += (c > 0 ? "  " : "") + padded(row[c], widths[c], sides[c] == 'r');
        }
        text.erase(text.find_last_not_of(' ') + 1);
        text += '\n';
    }
    return text;
}

}  // namespace tapestry::terminal
