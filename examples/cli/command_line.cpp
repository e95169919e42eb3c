#include <tapestry/examples/cli/command_line.h>

#include <algorithm>
#include <string_view>

namespace tapestry::cli {

std::string quoted_for_shell(const std::string& text) {
    const auto plain = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               std::string_view("_./=:,+-").find(c) != std::string_view::npos;
    };
    if (!text.empty() && std::all_of(text.begin(), text.end(), plain)) return text;
    std::string quoted = "'";
    for (const char c : text) quoted += c == '\'' ? "'\\''" : std::string(1, c);
    return quoted + "'";
}

TrainingRecipe recipe_of(const Options& options) {
    TrainingRecipe recipe{.command = "tapestry " + options.name()};
    for (const OptionValue& option : options.values()) {
        if (option.given) recipe.command += " " + option.name;
        for (const std::string& value : option.values) {
            if (!option.is_flag) recipe.command += " " + quoted_for_shell(value);
        }
        if (!option.value.empty()) {
            recipe.options.push_back({option.name, option.value, option.description});
        }
    }
    return recipe;
}

}  // namespace tapestry::cli
