// Options that several subcommands share, and what they check.
#pragma once

#include <tapestry/core/parallel.h>
#include <tapestry/nn/gpt.h>

#include <CLI/CLI.hpp>

#include <cstdint>
#include <limits>
#include <string>

namespace tapestry::cli {

/// Whole numbers that something is counted in. The upper bound catches typing errors, not big
/// wishes: what needs more memory than there is is refused with its size.
inline CLI::Range count_from(std::int64_t low) { return {low, std::int64_t{1000000000}}; }

inline CLI::Option* add_threads(CLI::App& command, int& threads) {
    return command.add_option("--threads", threads, "Threads; default: one per core")
        ->check(CLI::Range(1, 1024));
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

/// Throws ValueError when training would need more memory than the system has to give, saying how
/// much it would need.
void check_memory(const GPTConfig& config, std::int64_t batch);

}  // namespace tapestry::cli
