#include <tapestry/nn/terminal/text_label.h>

#include <tapestry/core/text/unicode.h>
#include <tapestry/core/text/utf8.h>

namespace tapestry::terminal {
namespace {

constexpr const char* kDottedCircle = "\u25CC";  // Unicode's base for a lone mark

bool is_mark(const utf8::Step& here, const std::string& printable) {
    return printable.size() == here.bytes && unicode::width_of(here.code) == 0;
}

}  // namespace

std::vector<std::string> shown_characters(std::string_view token) {
    const bool blank = token.find_first_not_of(' ') == std::string_view::npos;
    std::vector<std::string> shown;
    for (std::size_t at = 0; at < token.size();) {
        const utf8::Step here = utf8::step(token, at);
        if (here.flaw != nullptr) {
            shown.push_back(fmt::format("\\x{:02X}", static_cast<unsigned char>(token[at])));
            ++at;
            continue;
        }
        at += here.bytes;
        const std::string printable = blank ? "_" : utf8::printable(here.code);
        if (!is_mark(here, printable)) {
            shown.push_back(printable);
        } else {
            if (shown.empty()) shown.emplace_back(kDottedCircle);
            shown.back() += printable;
        }
    }
    return shown;
}

std::string label_of(std::string_view token, int most) {
    const std::vector<std::string> characters = shown_characters(token);
    std::string label;
    for (const std::string& character : characters) label += character;
    if (columns_of(label) <= most) return label;
    label.clear();
    for (const std::string& character : characters) {
        if (columns_of(label) + columns_of(character) > most - 2) break;
        label += character;
    }
    return label + "..";
}

std::string line_of(std::string line) {
    line.erase(line.find_last_not_of(' ') + 1);
    return line + '\n';
}

}  // namespace tapestry::terminal
