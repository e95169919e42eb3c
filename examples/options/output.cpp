#include <tapestry/examples/options/output.h>

#include <tapestry/core/error.h>
#include <tapestry/core/text/utf8.h>

#include <unistd.h>

#include <algorithm>

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

}  // namespace

void print_text(std::string_view text) { print_raw(utf8::for_terminal(text)); }

void print_json(std::string_view json) { print_raw(utf8::json_for_terminal(json) + "\n"); }

void say(std::string_view text, std::FILE* to) { say_raw(utf8::for_terminal(text), to); }

void say_sample(std::string_view text) { ::isatty(STDOUT_FILENO) == 1 ? say(text) : say_raw(text); }

void say_raw(std::string_view text, std::FILE* to) {
    std::fwrite(text.data(), 1, text.size(), to);
    std::fflush(to);
}

void say_error(std::string_view program, std::string_view message) {
    say(fmt::format("{}: {}\n", program, one_line(message)), stderr);
}

}  // namespace tapestry::cli
