#include <tapestry/nn/chat/jinja_tokens.h>

#include <tapestry/core/text/utf8.h>
#include <tapestry/nn/chat/jinja_value.h>

#include <algorithm>
#include <array>

namespace tapestry::jinja {
namespace {

using Kind = Token::Kind;

constexpr std::string_view kBlanks = " \t\n\r\v\f";

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool begins_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool continues_name(char c) { return begins_name(c) || is_digit(c); }

// With \n for every line break, and without the last.
std::string normalized(std::string_view program) {
    std::string text;
    for (std::size_t i = 0; i < program.size(); ++i) {
        const bool is_pair = program[i] == '\r' && program.substr(i + 1, 1) == "\n";
        if (!is_pair) text += program[i] == '\r' ? '\n' : program[i];
    }
    if (text.ends_with('\n')) text.pop_back();
    return text;
}

class Cutter {
public:
    explicit Cutter(std::string_view program) : rest_(program) {}

    std::vector<Token> cut() {
        while (!rest_.empty()) text();
        add(Kind::end, {});
        return std::move(tokens_);
    }

private:
    void add(Kind kind, std::string text) { tokens_.push_back({kind, std::move(text), line_}); }

    std::string_view take(std::size_t count) {
        const std::string_view taken = rest_.substr(0, count);
        line_ += std::count(taken.begin(), taken.end(), '\n');
        rest_.remove_prefix(taken.size());
        return taken;
    }

    bool take_if(std::string_view wanted) {
        if (!rest_.starts_with(wanted)) return false;
        take(wanted.size());
        return true;
    }

    [[noreturn]] void fail_here(std::string_view what, std::int64_t line) const {
        fail<JinjaError>("line {}: {}", line, what);
    }

    static std::size_t tag_in(std::string_view text) {
        std::size_t at = text.find('{');
        while (at != text.npos && at + 1 < text.size()) {
            if (std::string_view("{%#").find(text[at + 1]) != std::string_view::npos) return at;
            at = text.find('{', at + 1);
        }
        return text.size();
    }

    // Up to the next tag, and the tag.
    void text() {
        const std::size_t length = tag_in(rest_);
        const bool is_last = length == rest_.size();
        const char kind = is_last ? ' ' : rest_[length + 1];
        const char sign = is_last || length + 2 >= rest_.size() ? ' ' : rest_[length + 2];
        const std::int64_t line = line_;
        std::string_view text = take(length);
        if (sign == '-') {
            text = text.substr(0, text.find_last_not_of(kBlanks) + 1);
        } else if ((kind == '%' || kind == '#') && sign != '+') {
            text = without_indent(text);
        }
        if (!text.empty()) tokens_.push_back({Kind::text, std::string(text), line});
        if (is_last) return;
        take(sign == '-' || sign == '+' ? 3 : 2);
        if (kind == '#') return comment();
        if (kind == '%' && is_raw()) return raw();
        add(kind == '{' ? Kind::open_output : Kind::open_block, {});
        code(kind == '{' ? "}}" : "%}", kind == '{' ? Kind::close_output : Kind::close_block);
    }

    // Without the blanks in front of a tag that begins a line.
    std::string_view without_indent(std::string_view text) const {
        const std::size_t line = text.rfind('\n') + 1;  // npos + 1 is 0
        if (line == 0 && !begins_line_) return text;
        return text.find_first_not_of(kBlanks, line) == text.npos ? text.substr(0, line) : text;
    }

    // The text behind a tag that ends with `sign`.
    void after_tag(char sign, bool is_output) {
        begins_line_ = false;
        if (sign == '-') {
            const std::size_t blanks = std::min(rest_.find_first_not_of(kBlanks), rest_.size());
            begins_line_ = blanks > 0 && rest_[blanks - 1] == '\n';
            take(blanks);
        } else if (sign != '+' && !is_output) {
            begins_line_ = take_if("\n");
        }
    }

    void comment() {
        const std::int64_t line = line_;
        const std::size_t end = rest_.find("#}");
        if (end == rest_.npos) fail_here("a comment without #}", line);
        const char sign = end > 0 ? rest_[end - 1] : ' ';
        take(end + 2);
        after_tag(sign, false);
    }

    static std::size_t skip_blanks(std::string_view text, std::size_t at) {
        return std::min(text.find_first_not_of(kBlanks, at), text.size());
    }

    bool is_raw() const {
        const std::size_t at = skip_blanks(rest_, 0);
        const std::size_t end = skip_blanks(rest_, std::min(at + 3, rest_.size()));
        const std::string_view close = rest_.substr(end, 3);
        return rest_.substr(at, 3) == "raw" && (close.starts_with("%}") || close == "-%}");
    }

    // Written as it is, up to {% endraw %}.
    void raw() {
        const std::int64_t line = line_;
        const std::size_t close = rest_.find("%}");
        const char sign = rest_[close - 1];
        take(close + 2);
        after_tag(sign, false);
        for (std::size_t at = rest_.find("{%"); at != rest_.npos; at = rest_.find("{%", at + 1)) {
            std::size_t name = at + 2;
            const bool strips = rest_.substr(name, 1) == "-";
            name = skip_blanks(rest_, name + (strips ? 1 : 0));
            if (!rest_.substr(name).starts_with("endraw")) continue;
            std::string_view text = rest_.substr(0, at);
            if (strips) text = text.substr(0, text.find_last_not_of(kBlanks) + 1);
            if (!text.empty()) add(Kind::text, std::string(text));
            const std::size_t end = rest_.find("%}", name);
            if (end == rest_.npos) break;
            const char last = rest_[end - 1];
            take(end + 2);
            return after_tag(last, false);
        }
        fail_here("raw without endraw", line);
    }

    // The tokens of a tag, and its end.
    void code(std::string_view close, Kind kind) {
        const std::int64_t line = line_;
        int open = 0;  // brackets
        for (;;) {
            take(skip_blanks(rest_, 0));
            if (rest_.empty()) fail_here("a tag that is not closed", line);
            if (open == 0) {
                const char sign = rest_[0];
                const bool is_signed = sign == '-' || sign == '+';
                if (rest_.substr(is_signed ? 1 : 0).starts_with(close)) {
                    take(is_signed ? 3 : 2);
                    add(kind, {});
                    return after_tag(is_signed ? sign : ' ', kind == Kind::close_output);
                }
            }
            token();
            if (tokens_.back().kind != Kind::sign) continue;
            const std::string& sign = tokens_.back().text;
            if (sign == "(" || sign == "[" || sign == "{") ++open;
            if (sign == ")" || sign == "]" || sign == "}") --open;
            if (open < 0) fail_here("a bracket that closes nothing", line_);
        }
    }

    void token() {
        const char c = rest_[0];
        if (begins_name(c)) {
            std::size_t end = 1;
            while (end < rest_.size() && continues_name(rest_[end])) ++end;
            return add(Kind::name, std::string(take(end)));
        }
        if (is_digit(c)) return number();
        if (c == '\'' || c == '"') return string();
        static constexpr std::array<std::string_view, 5> kPairs{"==", "!=", "<=", ">=", "//"};
        for (const std::string_view pair : kPairs) {
            if (rest_.starts_with(pair)) return add(Kind::sign, std::string(take(2)));
        }
        if (std::string_view("+-*/%~<>=()[]{}|.,:").find(c) == std::string_view::npos) {
            fail_here("a character that begins nothing: " + utf8::quoted(rest_.substr(0, 1)),
                      line_);
        }
        add(Kind::sign, std::string(take(1)));
    }

    std::size_t digits_from(std::size_t at) const {
        while (at < rest_.size() && (is_digit(rest_[at]) || rest_[at] == '_')) ++at;
        return at;
    }

    void number() {
        std::size_t end = digits_from(0);
        bool is_real = false;
        if (end + 1 < rest_.size() && rest_[end] == '.' && is_digit(rest_[end + 1])) {
            end = digits_from(end + 1);
            is_real = true;
        }
        if (end < rest_.size() && (rest_[end] == 'e' || rest_[end] == 'E')) {
            std::size_t power = end + 1;
            if (power < rest_.size() && (rest_[power] == '+' || rest_[power] == '-')) ++power;
            if (digits_from(power) > power) end = digits_from(power), is_real = true;
        }
        std::string text(take(end));
        std::erase(text, '_');
        add(is_real ? Kind::real : Kind::integer, text);
    }

    void string() {
        const std::int64_t line = line_;
        const char quote = take(1)[0];
        std::string all;
        for (;;) {
            if (rest_.empty()) fail_here("a string that is not closed", line);
            const char c = take(1)[0];
            if (c == quote) break;
            if (c == '\\') {
                append_escaped(all);
            } else {
                all += c;
            }
        }
        tokens_.push_back({Kind::string, std::move(all), line});
    }

    // Python's escapes, but for octal numbers and names.
    void append_escaped(std::string& to) {
        if (rest_.empty()) return;
        const char c = take(1)[0];
        constexpr std::string_view kNames = "nrtbfav\\'\"", kMeant = "\n\r\t\b\f\a\v\\'\"";
        const std::size_t known = kNames.find(c);
        if (known != kNames.npos) {
            to += kMeant[known];
        } else if (c == 'x' || c == 'u' || c == 'U') {
            append_number(to, c, c == 'x' ? 2 : c == 'u' ? 4 : 8);
        } else if (c != '\n') {
            to += '\\';
            to += c;
        }
    }

    void append_number(std::string& to, char c, std::size_t digits) {
        const std::string_view text = rest_.substr(0, digits);
        constexpr std::string_view kDigits = "0123456789abcdef";
        std::uint32_t point = 0;
        for (const char digit : text) {
            const bool is_upper = digit >= 'A' && digit <= 'F';
            const std::size_t value =
                kDigits.find(is_upper ? static_cast<char>(digit - 'A' + 'a') : digit);
            point = value == kDigits.npos || point > 0x10FFFFU
                        ? 0x110000U
                        : point * 16 + static_cast<std::uint32_t>(value);
        }
        const bool is_surrogate = point >= 0xD800U && point < 0xE000U;
        if (text.size() < digits || point > 0x10FFFFU || is_surrogate) {
            fail_here(std::string("an escape that stands for no character: \\") + c, line_);
        }
        take(digits);
        utf8::append(to, static_cast<char32_t>(point));
    }

    std::string_view rest_;
    std::vector<Token> tokens_;
    std::int64_t line_ = 1;
    bool begins_line_ = true;  // what follows
};

}  // namespace

std::vector<Token> tokens_of(std::string_view program) {
    const std::string text = normalized(program);
    return Cutter(text).cut();
}

}  // namespace tapestry::jinja
