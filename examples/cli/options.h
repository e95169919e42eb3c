// Options shared by several subcommands, with their checks; the cache of tokenized texts; and the
// command line as given, so a report can show how to reproduce it.
#pragma once

#include <tapestry/core/parallel.h>
#include <tapestry/examples/options/options.h>
#include <tapestry/nn/generate/sample.h>
#include <tapestry/nn/io/model_directory.h>
#include <tapestry/nn/io/tokenize.h>
#include <tapestry/nn/models/gpt_config.h>
#include <tapestry/nn/pages/report.h>

#include <memory>
#include <string>
#include <vector>

namespace tapestry {
struct CheckpointOptions;
}

namespace tapestry::cli {

/// --model, the directory of a trained model.
Option add_model_directory(Options& options, std::string& model);

/// A GPT's shape, for `bench` and `profile`.
void add_model_options(Options& options, GPTConfig& config);

/// The same, and the size of a batch.
void add_model_options(Options& options, GPTConfig& config, std::int64_t& batch);

/// Puts the options of `train` below headings.
void group_train_options(Options& options);

/// Options for how tokens are chosen: --temperature to --repeat-last.
void add_sampling_options(Options& options, SampleOptions& to);
/// Parses "500" steps or "30s"; "0" means never. Returns an error message, or an empty string.
std::string read_interval(const std::string& text, CheckpointOptions& to);

/// The name of the first kind of model that has all these fields; the default if none has.
std::string kind_with_fields(const std::vector<std::string>& fields);

/// Returns why weights of this type cannot be trained, or an empty string.
std::string read_weights(const std::string& type, ComputeType& to);

/// --json.
void add_json(Options& options, bool& json);

/// --no-cache.
void add_no_cache(Options& options, bool& no_cache);

/// The user's cache of tokenized texts. Warns on stderr if it cannot be written. Null with
/// `no_cache`, or if the environment does not define a location for it.
std::unique_ptr<TextCache> text_cache(bool no_cache);

/// The command with the options given, quoted for a shell, and every option that has a value,
/// whether given or not.
TrainingRecipe recipe_of(const Options& options);

/// Quotes `text` so that a shell reads it back unchanged.
std::string quoted_for_shell(const std::string& text);

}  // namespace tapestry::cli
