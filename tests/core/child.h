// Asks a second process about the effect of an environment variable: values read once, at first
// use, cannot be tested in a process that has already used them. The child is this same program,
// running a test that is otherwise skipped: TEST_CASE("..." * doctest::skip()) calls answer().
#pragma once

#include <tapestry/core/error.h>

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>

namespace tapestry::test {

/// In the child: prints the result of f(), or the error.
template <class F>
void answer(F&& f) {
    std::string text;
    try {
        text = f();
    } catch (const ValueError& error) {
        text = fmt::format("ValueError {}", error.what());
    }
    std::printf("<<%s>>\n", text.c_str());
}

/// In the parent: the answer of test case `name` run with variable=value; empty if no child can be
/// run (in an emulator, for example).
inline std::optional<std::string> ask_child(const std::string& name, const std::string& variable,
                                            const std::string& value) {
    char path[4096];
    const auto length = readlink("/proc/self/exe", path, sizeof(path));
    if (length <= 0) return std::nullopt;
    const std::string program(path, static_cast<std::size_t>(length));
    const std::string command = fmt::format("{}='{}' '{}' --no-skip --test-case='{}' 2>/dev/null",
                                            variable, value, program, name);
    std::FILE* pipe = popen(command.c_str(), "r");
    if (pipe == nullptr) return std::nullopt;
    std::string output;
    for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) {
        output += static_cast<char>(c);
    }
    pclose(pipe);
    const auto begin = output.find("<<");
    const auto end = output.find(">>");
    if (begin == std::string::npos || end == std::string::npos) return std::nullopt;
    return output.substr(begin + 2, end - begin - 2);
}

}  // namespace tapestry::test
