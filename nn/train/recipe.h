// The part of a run's report that precedes the first step: what is trained, how to reproduce it,
// and losses to compare with.
#pragma once

#include <tapestry/nn/pages/report.h>
#include <tapestry/nn/train/session.h>

#include <filesystem>

namespace tapestry {

/// Last component of a path, for titles: "input.txt", and "data" for "runs/data/".
std::string last_name(const std::filesystem::path& path);

/// The configuration's fields, including the model's, by their names on the command line:
/// "--min-lr". Empty strings are left out.
std::vector<RecipeLine> recipe_lines(const TrainingConfig& config);

/// Losses without a model: guessing, unigram counts, bigram counts. Measured on the validation
/// split.
std::vector<ExpectedLoss> expected_losses(const TextData& data, const Tokenizer& tokenizer);

/// For LossWatch: a custom task's expected losses; empty for the library's tasks, whose loss of
/// guessing follows from the configuration.
std::vector<ExpectedLoss> losses_to_compare(const Session& session);

/// Assembles the recipe. `also` has the command, and options to list in addition to the
/// configuration's; `step_least`: TrainingRecipe's.
TrainingRecipe recipe_of(const Session& session, const TrainingRecipe& also, double step_least);

}  // namespace tapestry
