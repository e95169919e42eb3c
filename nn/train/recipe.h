// What a training's report says before the first step: what it is, how to do it again, and what a
// loss can be compared with.
#pragma once

#include <tapestry/nn/pages/report.h>
#include <tapestry/nn/train/session.h>

#include <filesystem>

namespace tapestry {

/// What a title calls a path: "input.txt", and "data" of "runs/data/".
std::string last_name(const std::filesystem::path& path);

/// The configuration's fields, the model's among them, as the command line calls them: "--min-lr".
/// Texts that are empty are left out.
std::vector<RecipeLine> recipe_lines(const TrainingConfig& config);

/// What needs no model: guessing, counting tokens, counting pairs of them. Measured on the
/// validation part.
std::vector<ExpectedLoss> expected_losses(const TextData& data, const Tokenizer& tokenizer);

/// All of it. `also` has the command, and options to be listed besides the configuration's;
/// `step_least`: TrainingRecipe's.
TrainingRecipe recipe_of(const Session& session, const TrainingRecipe& also, double step_least);

}  // namespace tapestry
