// Options that several subcommands share, and what they check.
#pragma once

#include <tapestry/core/parallel.h>
#include <tapestry/examples/options/options.h>
#include <tapestry/nn/io/model_directory.h>
#include <tapestry/nn/models/check_memory.h>

#include <string>

namespace tapestry::cli {

/// --model, a directory with a trained model.
Option add_model_directory(Options& options, std::string& model);

/// The shape of the model, for `train` and `bench step`.
void add_model_options(Options& options, GPTConfig& config, std::int64_t& batch);

/// --json.
void add_json(Options& options, bool& json);

}  // namespace tapestry::cli
