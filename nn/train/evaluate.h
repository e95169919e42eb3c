// The loss on data that is not trained on.
#pragma once

#include <tapestry/nn/data/text.h>
#include <tapestry/nn/gpt.h>

namespace tapestry {

struct EvaluateOptions {
    std::int64_t batches = 50;
    std::int64_t batch = 12;
};

/// Mean cross-entropy (nats per token) over random batches of a part of the text, in evaluation
/// mode, recorded by no tape. The model is left in the mode it was in.
double evaluate(GPT& model, const TextData& data, Split split, const EvaluateOptions& options,
                Generator& generator);

}  // namespace tapestry
