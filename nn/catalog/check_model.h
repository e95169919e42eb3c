// A trained GPT's loss on a piece of text, for the gradient checker: what `tapestry gradcheck
// --model` checks. Read next: check_gradients.h, which checks it.
#pragma once

#include <tapestry/autograd/check/precision.h>
#include <tapestry/nn/data/text.h>
#include <tapestry/nn/models/gpt.h>

#include <cstdint>
#include <memory>
#include <string>

namespace tapestry::catalog {

/// The model's loss on a batch, and its parameters, in either type. The model is left in f64. It
/// must live as long.
TwoPrecisions loss_on(GPT& model, const Batch& batch);

struct ModelOnText {
    std::unique_ptr<GPT> model;
    TwoPrecisions loss;
};

/// A model from its directory, in training mode (the checker draws the same dropout at every run),
/// and `batch` random pieces of the text, of 16 tokens or the model's context. Throws as
/// load_model_with_text and TextData::random_batch do.
ModelOnText model_on_text(const std::string& model, const std::string& text, std::int64_t batch,
                          std::uint64_t seed = 1);

}  // namespace tapestry::catalog
