// The loss on held-out data, and how well a trained model predicts a text or token ids from
// elsewhere, as `tapestry eval` reports it.
#pragma once

#include <tapestry/nn/data/text.h>
#include <tapestry/nn/data_parallel/gradient_sum.h>
#include <tapestry/nn/models/gpt.h>
#include <tapestry/nn/train/training_config.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tapestry {

/// How much to evaluate.
struct EvaluateOptions {
    std::int64_t batches = 50;  ///< number of batches
    std::int64_t batch = 12;    ///< sequences per batch
    /// evaluate_on_text(): if the batches have as many tokens as the part of the text, that is
    /// evaluated instead, each token once, window by window.
    bool at_most_all = false;
};

/// Mean cross-entropy (nats per token) over random batches of one split of the text, in evaluation
/// mode, without a tape. Restores the model's mode.
double evaluate(LanguageModel& model, const TextData& data, Split split,
                const EvaluateOptions& options, Generator& generator);

/// The losses that evaluate() averages, but only for `batches`; the generator advances past all of
/// them.
std::vector<double> batch_losses(LanguageModel& model, const TextData& data, Split split,
                                 const EvaluateOptions& options, Generator& generator,
                                 Range batches);

class Task;

/// The mean losses of some batches, and how much each counts.
struct BatchLosses {
    std::vector<double> means;   ///< of each batch
    std::vector<double> counts;  ///< of each: CountedLoss::count, or 1
};

/// The losses of the task's validation batches, but only of `batches`; the generator advances past
/// all of them. In evaluation mode, without a tape; restores the model's mode.
BatchLosses validation_losses(Task& task, Generator& generator, Range batches);

/// The mean over all targets.
double mean_loss(const BatchLosses& losses);

/// The loss of a sequence of ids, window by window.
struct WindowLoss {
    double loss = 0;          ///< mean cross-entropy in nats
    std::int64_t tokens = 0;  ///< tokens predicted
};

/// The loss over a whole sequence of n ids, without randomness: it is cut into consecutive windows
/// of `context` inputs without overlap (the last may be shorter), and each input predicts the next
/// id. So ids 1 to n - 1 are predicted once each, from the ids before them in their window.
/// Evaluation mode, no tape; restores the model's mode. Throws ValueError for fewer than two ids,
/// IndexError for an id outside the vocabulary.
WindowLoss evaluate_windows(LanguageModel& model, std::span<const std::int64_t> ids);
WindowLoss evaluate_windows(LanguageModel& model, const TokenIds& ids);

// ---- of a trained model, from its directory -----------------------------------------------------

//     const Evaluation one = evaluate_on_text({.text = "other.txt", .start = "model"});
//     fmt::print("{}\n", to_text(one));

/// How well a model predicts a text.
struct Evaluation {
    double loss = 0;             ///< mean cross-entropy in nats; finite
    std::int64_t tokens = 0;     ///< tokens predicted
    std::string unit = "token";  ///< or "character"
    std::string of = {};         ///< "the validation part of input.txt"
    bool drawn = false;          ///< from random pieces of it, not from all of it in order
};

/// Evaluates the model in the directory config.start on random pieces of config.text or
/// config.data, split by config.test_fraction, tokenized as the model's; or on all of it, as
/// options.at_most_all says. Throws ValueError for the test split of a text that has none, and for
/// a part shorter than the model's context, unless all of it is evaluated; DivergedError for a loss
/// that is not finite; and as load_model and read_corpus do.
Evaluation evaluate_on_text(const TrainingConfig& config, Split split = Split::all,
                            const EvaluateOptions& options = {}, std::uint64_t seed = 1337);

/// Evaluates the model in a directory on all ids in a file, window by window. Throws as load_model,
/// read_token_file and evaluate_windows do; DivergedError for a loss that is not finite.
Evaluation evaluate_on_tokens(const std::string& model, const std::string& file);

/// "loss 1.4632 nats per character (perplexity 4.320) over 153600 characters drawn from input.txt"
std::string to_text(const Evaluation& evaluation);

/// One JSON object.
std::string to_json(const Evaluation& evaluation);

}  // namespace tapestry
