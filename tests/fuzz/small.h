// Models of a few hundred parameters, for runs of a few milliseconds.
#pragma once

#include <tapestry/nn/models/gpt_config.h>
#include <tapestry/nn/models/transformer.h>
#include <tapestry/nn/train/training_config.h>

#include <string>

namespace tapestry::fuzz {

inline GPTConfig small_gpt(std::int64_t vocab) {
    return {.vocab = vocab, .context = 6, .layers = 1, .heads = 1, .dim = 4, .hidden = 4};
}

inline TransformerConfig small_transformer(std::int64_t vocab) {
    return {.source_vocab = vocab,
            .target_vocab = vocab,
            .dim = 4,
            .heads = 1,
            .layers = 1,
            .hidden = 4,
            .dropout = 0};
}

/// Without biases, which would double the size of its checkpoints.
inline TrainingConfig small_training(const std::string& text) {
    GPTConfig model = small_gpt(0);
    model.bias = false;
    return {.text = text,
            .model = model,
            .batch = 1,
            .steps = 6,
            .warmup = 1,
            .eval_every = 2,
            .eval_batches = 1};
}

}  // namespace tapestry::fuzz
