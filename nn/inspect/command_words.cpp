#include <tapestry/nn/inspect/diagnosis_parts.h>

#include <tapestry/nn/inspect/diagnosis.h>

#include <fmt/ranges.h>

#include <algorithm>

namespace tapestry {

std::vector<std::string> words_of(const std::string& command) {
    std::vector<std::string> words(1);
    bool quoted = false;
    for (std::size_t i = 0; i < command.size(); ++i) {
        const char c = command[i];
        if (c == '\'') quoted = !quoted;
        if (c == ' ' && !quoted) {
            words.emplace_back();
            continue;
        }
        words.back() += c;
        if (c == '\\' && !quoted && i + 1 < command.size()) words.back() += command[++i];
    }
    return words;
}

std::string option_in(const std::string& command, const std::string& name) {
    const std::vector<std::string> words = words_of(command);
    const auto found = std::find(words.begin(), words.end(), name);
    return found == words.end() || found + 1 == words.end() ? "" : *(found + 1);
}

std::string with_option(const std::string& command, const std::string& name,
                        const std::string& value) {
    std::vector<std::string> words = words_of(command);
    const auto found = std::find(words.begin(), words.end(), name);
    if (found == words.end()) {
        words.push_back(name);
        if (!value.empty()) words.push_back(value);
    } else if (!value.empty() && found + 1 != words.end()) {
        *(found + 1) = value;
    }
    return fmt::format("{}", fmt::join(words, " "));
}

}  // namespace tapestry
