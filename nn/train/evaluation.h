// How well a trained model predicts a text, or token ids from elsewhere: what `tapestry eval` says.
//
//     const Evaluation one = evaluate_on_text({.text = "other.txt", .start = "model"});
//     fmt::print("{}\n", to_text(one));
//
// Read next: evaluate.h, which computes the losses.
#pragma once

#include <tapestry/nn/train/evaluate.h>
#include <tapestry/nn/train/training_config.h>

#include <cstdint>
#include <string>

namespace tapestry {

struct Evaluation {
    double loss = 0;             ///< mean cross-entropy in nats; finite
    std::int64_t tokens = 0;     ///< that were predicted
    std::string unit = "token";  ///< or "character"
    std::string of = {};         ///< "the validation part of input.txt"
    bool drawn = false;          ///< from random pieces of it, and not from all of it in order
};

/// Of random pieces of config.text or config.data, divided as config.test_fraction says, in the
/// tokens of the model in the directory config.start. Throws ValueError for the test part of a text
/// that has none; DivergedError for a loss that is not finite; and as load_model and read_tokens
/// do.
Evaluation evaluate_on_text(const TrainingConfig& config, Split split = Split::all,
                            const EvaluateOptions& options = {}, std::uint64_t seed = 1337);

/// Of all ids in a file, window after window, by the model in a directory. Throws as load_model,
/// read_token_file and evaluate_windows do; DivergedError for a loss that is not finite.
Evaluation evaluate_on_tokens(const std::string& model, const std::string& file);

/// "loss 1.4632 nats per character (perplexity 4.320) over 153600 characters of input.txt"
std::string to_text(const Evaluation& evaluation);

/// One JSON object.
std::string to_json(const Evaluation& evaluation);

}  // namespace tapestry
