#include <tapestry/nn/data/jinja_pieces.h>

#include <tapestry/core/text/utf8.h>

#include <algorithm>
#include <charconv>
#include <utility>

namespace tapestry {
namespace {

using Kind = JinjaPiece::Kind;

bool begins_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool continues_name(char c) { return begins_name(c) || (c >= '0' && c <= '9'); }

class Cutter {
public:
    explicit Cutter(std::string_view program) : rest_(program) {}

    std::vector<JinjaPiece> all() {
        while (!rest_.empty()) {
            cut_text();
            if (rest_.starts_with("{#")) {
                drop(std::min(rest_.size(), rest_.find("#}")) + 2);
            } else if (!rest_.empty()) {
                cut_code();
            }
        }
        return std::move(pieces_);
    }

private:
    void drop(std::size_t count) { rest_.remove_prefix(std::min(count, rest_.size())); }
    std::string take(std::size_t count) {
        std::string taken(rest_.substr(0, count));
        drop(count);
        return taken;
    }

    void cut_text() {
        std::size_t end = 0;
        while (end < rest_.size() && !begins_code(rest_.substr(end, 2))) ++end;
        if (end > 0) pieces_.push_back({Kind::text, take(end)});
    }
    static bool begins_code(std::string_view two) {
        return two == "{{" || two == "{%" || two == "{#";
    }

    void cut_code() {
        const std::string_view closing = rest_[1] == '{' ? "}}" : "%}";
        pieces_.push_back({Kind::begin, take(2)});
        while (!rest_.empty() && !rest_.starts_with(closing)) {
            const char c = rest_.front();
            if (c == '\'' || c == '"') {
                drop(1);
                pieces_.push_back({Kind::literal, literal(c)});
            } else if (begins_name(c)) {
                const auto end = std::find_if_not(rest_.begin(), rest_.end(), continues_name);
                const auto size = static_cast<std::size_t>(end - rest_.begin());
                pieces_.push_back({Kind::name, take(size)});
            } else if (c == ' ' || c == '\n' || c == '\t' || c == '\r') {
                drop(1);
            } else {
                pieces_.push_back({Kind::sign, take(1)});
            }
        }
        pieces_.push_back({Kind::end, take(2)});
    }

    // The string up to the quote, which is dropped.
    std::string literal(char quote) {
        std::string all;
        while (!rest_.empty() && rest_.front() != quote) {
            if (rest_.front() == '\\' && rest_.size() > 1) {
                drop(1);
                append_escaped(all);
            } else {
                all += take(1);
            }
        }
        drop(1);
        return all;
    }

    // Python's escapes, but for octal numbers and names.
    void append_escaped(std::string& to) {
        const char c = take(1)[0];
        switch (c) {
            case 'n': to += '\n'; return;
            case 't': to += '\t'; return;
            case 'r': to += '\r'; return;
            case '\\':
            case '\'':
            case '"': to += c; return;
            case 'x': return append_number(to, c, 2);
            case 'u': return append_number(to, c, 4);
            case 'U': return append_number(to, c, 8);
            default: to += {'\\', c};
        }
    }
    void append_number(std::string& to, char c, std::size_t digits) {
        const std::string_view text = rest_.substr(0, digits);
        std::uint32_t point = 0;
        const auto [end, error] =
            std::from_chars(text.data(), text.data() + text.size(), point, 16);
        if (error != std::errc() || end != text.data() + digits || point > 0x10FFFF) {
            to += {'\\', c};
            return;
        }
        drop(digits);
        utf8::append(to, static_cast<char32_t>(point));
    }

    std::string_view rest_;
    std::vector<JinjaPiece> pieces_;
};

using Pieces = std::vector<JinjaPiece>;

bool is(const Pieces& pieces, std::size_t i, Kind kind, std::string_view text) {
    return i < pieces.size() && pieces[i].kind == kind && pieces[i].text == text;
}
bool joins(const Pieces& pieces, std::size_t i) {
    return is(pieces, i, Kind::sign, "+") || is(pieces, i, Kind::sign, "~");
}
bool has_kind(const Pieces& pieces, std::size_t i, Kind kind) {
    return i < pieces.size() && pieces[i].kind == kind;
}

// {% set name = 'text' %}; empty without one.
std::string literal_set(const Pieces& pieces, const std::string& name) {
    for (std::size_t i = 0; i + 3 < pieces.size(); ++i) {
        if (is(pieces, i, Kind::name, "set") && is(pieces, i + 1, Kind::name, name) &&
            is(pieces, i + 2, Kind::sign, "=") && has_kind(pieces, i + 3, Kind::literal) &&
            !joins(pieces, i + 4)) {
            return pieces[i + 3].text;
        }
    }
    return {};
}

// The text of the variable after piece i: header + name + end, or {{ name }}, or
// {{ name or 'text' }}.
std::string variable_behind(const Pieces& pieces, std::size_t i) {
    const bool is_shown = has_kind(pieces, i + 1, Kind::begin);
    const std::size_t name = i + 2;
    if (!(joins(pieces, i + 1) || is_shown) || !has_kind(pieces, name, Kind::name)) return {};
    if (is(pieces, name + 1, Kind::name, "or") && has_kind(pieces, name + 2, Kind::literal)) {
        return pieces[name + 2].text;
    }
    const bool ends = is_shown ? has_kind(pieces, name + 1, Kind::end) : joins(pieces, name + 1);
    return ends ? literal_set(pieces, pieces[name].text) : std::string();
}

}  // namespace

Pieces without_tools(const Pieces& pieces) {
    Pieces kept;
    std::vector<bool> for_tools;  // whether each open branch is
    for (std::size_t i = 0; i < pieces.size(); ++i) {
        if (is(pieces, i, Kind::begin, "{%")) {
            std::size_t word = i + 1;
            while (has_kind(pieces, word, Kind::sign)) ++word;  // {%-
            if (is(pieces, word, Kind::name, "if")) {
                for_tools.push_back(is(pieces, word + 1, Kind::name, "tools"));
            } else if (!for_tools.empty() && (is(pieces, word, Kind::name, "else") ||
                                              is(pieces, word, Kind::name, "elif"))) {
                for_tools.back() = false;
            } else if (!for_tools.empty() && is(pieces, word, Kind::name, "endif")) {
                for_tools.pop_back();
            }
        }
        if (std::find(for_tools.begin(), for_tools.end(), true) == for_tools.end()) {
            kept.push_back(pieces[i]);
        }
    }
    return kept;
}

std::string written_system(const Pieces& pieces, std::string_view header, std::string_view end) {
    for (std::size_t i = 0; i < pieces.size(); ++i) {
        const std::string& text = pieces[i].text;
        const std::size_t at = pieces[i].is_written() ? text.find(header) : text.npos;
        if (at == text.npos) continue;
        const std::string rest = text.substr(at + header.size());
        const std::size_t size = end.empty() ? rest.rfind('\n') : rest.find(end);
        if (size != rest.npos && size > 0) return rest.substr(0, size);
        const std::string variable = rest.empty() ? variable_behind(pieces, i) : std::string();
        if (!variable.empty()) return variable;
    }
    return {};
}

std::vector<JinjaPiece> jinja_pieces(std::string_view program) { return Cutter(program).all(); }

}  // namespace tapestry
