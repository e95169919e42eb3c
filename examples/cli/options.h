// Options that several subcommands share, and what they check.
#pragma once

#include <tapestry/core/parallel.h>
#include <tapestry/examples/options/options.h>
#include <tapestry/nn/io/model_directory.h>

#include <string>

namespace tapestry::cli {

/// --model, a directory with a trained model.
Option add_model_directory(Options& options, std::string& model);

/// The shape of the model, for `train` and `bench step`.
void add_model_options(Options& options, GPTConfig& config, std::int64_t& batch);

/// --json.
void add_json(Options& options, bool& json);

/// Throws ValueError if the model, which came from this directory, has none.
const Tokenizer& tokenizer_of(const LoadedModel& loaded, const std::string& directory);

/// What the tokens are, for people: "character" or "token".
const char* unit_of(const Tokenizer& tokenizer);

/// Throws ValueError when training would need more memory than the system has to give, saying how
/// much it would need.
void check_memory(const GPTConfig& config, std::int64_t batch);

}  // namespace tapestry::cli
