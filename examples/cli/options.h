// Options that several subcommands share, and what they check.
#pragma once

#include <tapestry/core/parallel.h>
#include <tapestry/nn/io/model_directory.h>
#include <tapestry/nn/models/check_memory.h>

#include <CLI/CLI.hpp>

#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>

namespace tapestry::cli {

/// Whole numbers that something is counted in. The upper bound catches typing errors, not big
/// wishes: what needs more memory than there is is refused with its size.
inline CLI::Range count_from(std::int64_t low) { return {low, std::int64_t{1000000000}}; }

/// CLI::Range for real numbers, but NaN, which no comparison refuses, is not in it.
inline CLI::Validator number_in(double low, double high) {
    const auto check = [low, high](std::string& text) {
        char* end = nullptr;
        const double value = std::strtod(text.c_str(), &end);
        const bool good = !text.empty() && *end == '\0' && value >= low && value <= high;
        return good ? "" : fmt::format("{} is not a number from {} to {}", text, low, high);
    };
    return {check, fmt::format("NUMBER in [{} - {}]", low, high)};
}

/// --seed: CLI11 would take -1 and what has more than 64 bits.
inline void add_seed(CLI::App& command, std::uint64_t& seed, const std::string& description) {
    const auto check = [](std::string& text) {
        std::uint64_t value = 0;
        const char* end = text.data() + text.size();
        const auto [rest, error] = std::from_chars(text.data(), end, value);
        const bool good = error == std::errc{} && rest == end;
        return good ? "" : fmt::format("{} is not a whole number from 0 to 2^64 - 1", text);
    };
    command.add_option("--seed", seed, description)
        ->capture_default_str()
        ->check(CLI::Validator(check, ""));
}

inline CLI::Option* add_threads(CLI::App& command, int& threads) {
    return command.add_option("--threads", threads, "Threads; default: one per core")
        ->check(CLI::Range(1, 1024));
}

inline CLI::Option* add_model_directory(CLI::App& command, std::string& model) {
    return command
        .add_option("--model", model,
                    "Directory that `tapestry train` wrote, or a GPT-2 of "
                    "Hugging Face's (config.json, model.safetensors)")
        ->required();
}

/// Throws ValueError if the model, which came from this directory, has none.
inline const Tokenizer& tokenizer_of(const LoadedModel& loaded, const std::string& directory) {
    require(loaded.tokenizer != nullptr,
            "{}: the model has no tokenizer (vocab.json and merges.txt), so it cannot read text; "
            "tapestry eval --tokens needs none",
            directory);
    return *loaded.tokenizer;
}

/// What the tokens are, for people.
inline const char* unit_of(const Tokenizer& tokenizer) {
    return tokenizer.kind() == "char" ? "character" : "token";
}

/// The shape of the model, for `train` and `bench step`.
inline void add_model_options(CLI::App& command, GPTConfig& config, std::int64_t& batch) {
    command.add_option("--layers", config.layers, "Transformer blocks")
        ->capture_default_str()
        ->check(count_from(1));
    command.add_option("--heads", config.heads, "Attention heads per block")
        ->capture_default_str()
        ->check(count_from(1));
    command.add_option("--dim", config.dim, "Width of the model; a multiple of the heads")
        ->capture_default_str()
        ->check(count_from(1));
    command.add_option("--context", config.context, "Tokens the model looks at")
        ->capture_default_str()
        ->check(count_from(1));
    command.add_option("--batch", batch, "Sequences per batch")
        ->capture_default_str()
        ->check(count_from(1));
}

}  // namespace tapestry::cli
