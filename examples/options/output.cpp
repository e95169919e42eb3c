#include <tapestry/examples/options/output.h>

#include <tapestry/core/error.h>
#include <tapestry/core/text/utf8.h>

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace tapestry::cli {
namespace {

void print_raw(std::string_view text) {
    const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
    require<IoError>(written && std::fflush(stdout) == 0, "the output could not be written");
}

// CLI11's messages and strings from files may contain several lines.
std::string one_line(std::string_view message) {
    std::string line(message);
    std::replace_if(
        line.begin(), line.end(), [](char c) { return c == '\n' || c == '\t'; }, ' ');
    line.erase(line.find_last_not_of(' ') + 1);
    return line;
}

constexpr std::string_view kRed = "\033[31m", kGreen = "\033[32m", kYellow = "\033[33m",
                           kBold = "\033[1m", kUsual = "\033[0m";

bool has_colours(std::FILE* to) {
    const char* kind = std::getenv("TERM");
    const char* without = std::getenv("NO_COLOR");
    return ::isatty(::fileno(to)) == 1 && (without == nullptr || *without == '\0') &&
           kind != nullptr && std::string_view(kind) != "dumb";
}

std::string coloured(std::string_view colour, std::string_view text) {
    return std::string(colour) + std::string(text) + std::string(kUsual);
}

// The verdicts of checks, except those that nothing had: "0 FAIL".
std::string with_verdicts(const std::string& text) {
    constexpr std::pair<std::string_view, std::string_view> kVerdicts[] = {
        {"PASS", kGreen}, {"FAIL", kRed}, {"INCONCLUSIVE", kYellow}};
    const auto is_letter = [&](std::size_t at) {
        return at < text.size() && (text[at] | 0x20) >= 'a' && (text[at] | 0x20) <= 'z';
    };
    std::string result;
    for (std::size_t i = 0; i < text.size();) {
        std::string_view found, colour;
        for (const auto& [word, own] : kVerdicts) {
            if (text.compare(i, word.size(), word) == 0) found = word, colour = own;
        }
        const bool inside =
            found.empty() || is_letter(i + found.size()) || (i > 0 && is_letter(i - 1));
        const bool none = i >= 2 && text[i - 2] == '0' && (i == 2 || text[i - 3] == ' ');
        if (inside || none) {
            result += text[i++];
        } else {
            result += coloured(colour, found);
            i += found.size();
        }
    }
    return result;
}

// Lines like "Options:", and the word "Usage:".
std::string with_headings(const std::string& text) {
    std::string result;
    for (std::size_t from = 0; from < text.size();) {
        const std::size_t end = std::min(text.find('\n', from), text.size() - 1) + 1;
        const std::string line = text.substr(from, end - from);
        from = end;
        const bool heading = line.ends_with(":\n") && line.front() != ' ';
        const std::size_t bold = heading ? line.size() - 1 : line.starts_with("Usage:") ? 6 : 0;
        result += (bold > 0 ? coloured(kBold, line.substr(0, bold)) : "") + line.substr(bold);
    }
    return result;
}

}  // namespace

void print_text(std::string_view text) {
    const std::string escaped = utf8::for_terminal(text);
    print_raw(has_colours(stdout) ? with_verdicts(escaped) : escaped);
}

void print_help(std::string_view text) {
    const std::string escaped = utf8::for_terminal(text);
    print_raw(has_colours(stdout) ? with_headings(escaped) : escaped);
}

void print_json(std::string_view json) { print_raw(utf8::json_for_terminal(json) + "\n"); }

void say(std::string_view text, std::FILE* to) { say_raw(utf8::for_terminal(text), to); }

void say_sample(std::string_view text) { ::isatty(STDOUT_FILENO) == 1 ? say(text) : say_raw(text); }

void say_raw(std::string_view text, std::FILE* to) {
    std::fwrite(text.data(), 1, text.size(), to);
    std::fflush(to);
}

void say_error(std::string_view program, std::string_view message) {
    const std::string name = std::string(program) + ":";
    say_raw((has_colours(stderr) ? coloured(kRed, name) : name) + " " +
                utf8::for_terminal(one_line(message)) + "\n",
            stderr);
}

}  // namespace tapestry::cli
