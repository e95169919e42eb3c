// The loss on data that is not trained on.
#pragma once

#include <tapestry/nn/data/text.h>
#include <tapestry/nn/data_parallel/gradient_sum.h>
#include <tapestry/nn/models/gpt.h>

#include <span>
#include <vector>

namespace tapestry {

struct EvaluateOptions {
    std::int64_t batches = 50;
    std::int64_t batch = 12;
};

/// Mean cross-entropy (nats per token) over random batches of a part of the text, in evaluation
/// mode, recorded by no tape. The model is left in the mode it was in.
double evaluate(GPT& model, const TextData& data, Split split, const EvaluateOptions& options,
                Generator& generator);

/// The losses that evaluate() averages, of batches of these numbers alone; the generator goes on
/// past all of them.
std::vector<double> batch_losses(GPT& model, const TextData& data, Split split,
                                 const EvaluateOptions& options, Generator& generator,
                                 Range batches);

struct WindowLoss {
    double loss = 0;          ///< mean cross-entropy in nats
    std::int64_t tokens = 0;  ///< that were predicted
};

/// The loss on a whole sequence of n ids, without chance: cut into windows of `context` inputs that
/// follow one another without overlap (the last may be shorter), each input predicting the id after
/// it. So ids 1 .. n - 1 are predicted once each, from the ids of their own window before them.
/// Evaluation mode, no tape; the model is left in the mode it was in. Throws ValueError for fewer
/// than two ids, IndexError for one outside the vocabulary.
WindowLoss evaluate_windows(GPT& model, std::span<const std::int64_t> ids);

}  // namespace tapestry
