#include <tapestry/examples/options/help_text.h>

#include <algorithm>
#include <string_view>

namespace tapestry::cli {
namespace {

// Where the text of a line begins: its description if it has one in its column, or behind a name
// and a gap.
std::size_t indent_of(std::string_view line) {
    const std::size_t first = std::min(line.find_first_not_of(' '), line.size());
    const std::size_t gap = std::min(line.find("  ", first), line.size());
    const std::size_t text = line.find_first_not_of(' ', gap);
    if (first == 2 && text < kHelpNames) return text;
    const bool described = first > 0 && first < kHelpNames && line.size() > kHelpNames &&
                           line[kHelpNames - 1] == ' ' && line[kHelpNames] != ' ';
    return described ? kHelpNames : first;
}

// The last place to break within `columns`: at a space behind `from`, otherwise after a comma.
std::size_t break_in(std::string_view line, std::size_t from, std::size_t columns) {
    const std::string_view head = line.substr(0, columns + 1);
    const std::size_t space = head.rfind(' ');
    if (space != std::string_view::npos && space > from) return space;
    const std::size_t comma = head.substr(0, columns).rfind(',');
    return comma != std::string_view::npos && comma > from ? comma + 1 : std::string_view::npos;
}

std::string fit_line(std::string line, std::size_t columns) {
    const std::size_t indent = indent_of(line);
    const bool command = line.compare(indent, 9, "tapestry ") == 0;
    std::string text;
    while (!command && line.size() > columns) {
        const std::size_t at = break_in(line, indent, columns);
        if (at == std::string::npos) break;
        text += line.substr(0, at) + "\n";
        const std::size_t rest = std::min(line.find_first_not_of(' ', at), line.size());
        line = std::string(indent, ' ') + line.substr(rest);
    }
    return text + line;
}

}  // namespace

std::string fit_help(const std::string& text, std::size_t columns) {
    std::string fitted;
    for (std::size_t from = 0; from < text.size();) {
        const std::size_t end = std::min(text.find('\n', from), text.size());
        const std::string line = text.substr(from, end - from);
        from = end + 1;
        if (line.empty() && fitted.ends_with("\n\n")) continue;
        fitted += fit_line(line, columns) + "\n";
    }
    return fitted;
}

}  // namespace tapestry::cli
