#include <tapestry/nn/data/delimited.h>

#include <tapestry/core/text/json_tree.h>
#include <tapestry/core/text/utf8.h>
#include <tapestry/nn/data/documents.h>

#include <algorithm>
#include <fstream>
#include <system_error>

namespace tapestry {

std::string_view without_blanks(std::string_view text) {
    constexpr std::string_view kBlanks = " \t\r";
    const std::size_t begin = text.find_first_not_of(kBlanks);
    if (begin == text.npos) return {};
    return text.substr(begin, text.find_last_not_of(kBlanks) + 1 - begin);
}

std::vector<std::string_view> tab_fields(std::string_view line) {
    std::vector<std::string_view> fields;
    for (;;) {
        const std::size_t end = line.find('\t');
        fields.push_back(without_blanks(line.substr(0, end)));
        if (end == line.npos) return fields;
        line.remove_prefix(end + 1);
    }
}

std::size_t place_of_column(const std::vector<std::string_view>& fields, std::string_view name) {
    const auto found = std::find_if(fields.begin(), fields.end(), [&](std::string_view field) {
        return column_name(field) == name;
    });
    return static_cast<std::size_t>(found - fields.begin());
}

bool begins_with_names(const std::filesystem::path& file,
                       std::initializer_list<std::string_view> names) {
    const bool has_tabs = file.extension() == ".tsv";
    if (!has_tabs && !is_json_lines(file)) return false;
    std::error_code ignored;  // a pipe would wait, a device never end
    if (!std::filesystem::is_regular_file(file, ignored)) return false;
    std::ifstream from(file, std::ios::binary);
    std::string line;
    if (!std::getline(from, line)) return false;
    line.erase(0, utf8::mark_bytes(line));
    const auto all = [&names](auto&& has) { return std::all_of(names.begin(), names.end(), has); };
    if (has_tabs) {
        const std::vector<std::string_view> fields = tab_fields(line);
        return all(
            [&](std::string_view name) { return place_of_column(fields, name) < fields.size(); });
    }
    try {
        const JsonTree tree(line);
        return all(
            [&](std::string_view name) { return tree.root().find(std::string(name)).has_value(); });
    } catch (const JsonError&) {
        return false;
    }
}

DelimitedText::DelimitedText(std::string name, std::string_view text, std::int64_t line)
    : place_{std::move(name)}, text_(text), next_(line) {
    const bool has_lines = text.find('\n') != text.npos;
    require<IoError>(
        has_lines || text.find('\r') >= text.size() - std::min<std::size_t>(1, text.size()),
        "{}: its lines end with CR only; tr '\\r' '\\n' <FILE >NEW converts them", place_.name);
}

std::string_view DelimitedText::next_line() {
    place_.line = next_++;
    const std::size_t end = std::min(text_.find('\n', at_), text_.size());
    const std::string_view found = text_.substr(at_, end - at_);
    at_ = end + 1;
    return found;
}

// From after its opening quote to after its closing one.
std::string DelimitedText::quoted_field() {
    std::string field;
    for (;;) {
        const std::size_t end = text_.find('"', at_);
        if (end == text_.npos) place_.wrong("a quote is not closed");
        const std::string_view part = text_.substr(at_, end - at_);
        next_ += std::count(part.begin(), part.end(), '\n');
        field += part;
        at_ = end + 1;
        if (at_ >= text_.size() || text_[at_] != '"') return field;
        field += '"';  // two of them are one
        ++at_;
    }
}

std::vector<std::string> DelimitedText::next_record(char separator, bool has_quotes) {
    place_.line = next_;
    std::vector<std::string> fields;
    for (;;) {
        std::string field;
        const bool is_quoted = has_quotes && !is_done() && text_[at_] == '"';
        if (is_quoted) {
            ++at_;
            field = quoted_field();
        }
        const std::size_t end =
            std::min({text_.find(separator, at_), text_.find('\n', at_), text_.size()});
        const std::string_view rest = text_.substr(at_, end - at_);
        if (is_quoted && !without_blanks(rest).empty()) {
            place_.wrong("{} is behind a closing quote; a quote within a field is written twice",
                         utf8::quoted(without_blanks(rest), 20));
        }
        field += rest;
        const bool ends = end == text_.size() || text_[end] == '\n';
        at_ = end + 1;
        if (ends && field.ends_with('\r')) field.pop_back();
        fields.push_back(std::move(field));
        if (!ends) continue;
        ++next_;
        return fields;
    }
}

}  // namespace tapestry
