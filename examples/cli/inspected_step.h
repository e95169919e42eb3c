// What `tapestry inspect` takes its step on: a model from a directory, and a text that it predicts.
#pragma once

#include <tapestry/nn/module.h>
#include <tapestry/nn/pages/page.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tapestry::cli {

struct InspectedStep {
    std::shared_ptr<Module> model;
    std::function<Tensor()> loss;
    std::string predicted;  ///< "11 characters predicted, each from those before it"
    std::vector<PageText> texts;
};

/// A GPT goes on with the prompt; an encoder-decoder reads it and writes the target. Throws
/// ValueError for a prompt or a target that the model cannot read, for a target that is missing or
/// too much, and what load_model() throws.
InspectedStep inspected_step(const std::string& directory, const std::string& prompt,
                             const std::optional<std::string>& target);

}  // namespace tapestry::cli
