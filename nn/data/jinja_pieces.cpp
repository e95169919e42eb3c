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

    // What stands before the quote, which is dropped.
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

}  // namespace

std::vector<JinjaPiece> jinja_pieces(std::string_view program) { return Cutter(program).all(); }

}  // namespace tapestry
