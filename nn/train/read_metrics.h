// metrics.jsonl, which `tapestry train` writes beside the model, read back: also while it is being
// written.
#pragma once

#include <tapestry/nn/inspect/step_metrics.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace tapestry {

/// One number per entry of the steps beside it; NaN where a number was not finite.
struct Metrics {
    std::vector<double> steps, losses;
    std::vector<double> eval_steps, val_losses;
};

/// The lines with a step, in their order. A last line without its end is still being written, and
/// left out if it is not whole. Throws IoError for a file that cannot be read or has no step yet;
/// naming the line, for one that is no JSON object with "step" and "loss".
Metrics read_metrics(const std::filesystem::path& file);

/// The same lines with all that they say. What a step took is told by its speed, tokens_per_step
/// over "tokens_per_s".
std::vector<StepMetrics> read_steps(const std::filesystem::path& file,
                                    std::int64_t tokens_per_step);

/// The lines of steps up to `last` as they are written, each with its end.
std::string lines_of_steps(const std::filesystem::path& file, std::int64_t last);

/// The file of metrics in a training's directory: those of the training that has not saved its
/// model yet, if there are any.
std::filesystem::path latest_metrics(const std::filesystem::path& directory);

}  // namespace tapestry
