// A command line as it was given, for a report that says how to do it again.
#pragma once

#include <tapestry/examples/options/options.h>
#include <tapestry/nn/pages/report.h>

#include <string>

namespace tapestry::cli {

/// The command with the options that were given, as a shell reads it, and all options that have a
/// value, given or not.
TrainingRecipe recipe_of(const Options& options);

/// As a shell reads it back.
std::string quoted_for_shell(const std::string& text);

}  // namespace tapestry::cli
