// Options that several subcommands share, what they check, and the cache of tokenized texts; and a
// command line as it was given, for a report that says how to do it again.
#pragma once

#include <tapestry/core/parallel.h>
#include <tapestry/examples/options/options.h>
#include <tapestry/nn/io/model_directory.h>
#include <tapestry/nn/io/tokenize.h>
#include <tapestry/nn/models/gpt_config.h>
#include <tapestry/nn/pages/report.h>

#include <memory>
#include <string>

namespace tapestry::cli {

/// --model, a directory with a trained model.
Option add_model_directory(Options& options, std::string& model);

/// The shape of the model, for `train` and `bench step`.
void add_model_options(Options& options, GPTConfig& config, std::int64_t& batch);

/// --json.
void add_json(Options& options, bool& json);

/// --no-cache.
void add_no_cache(Options& options, bool& no_cache);

/// The user's cache of tokenized texts. It says on stderr when nothing can be kept. Null with
/// `no_cache`, and where the environment names no place for it.
std::unique_ptr<TextCache> text_cache(bool no_cache);

/// The command with the options that were given, as a shell reads it, and all options that have a
/// value, given or not.
TrainingRecipe recipe_of(const Options& options);

/// As a shell reads it back.
std::string quoted_for_shell(const std::string& text);

}  // namespace tapestry::cli
