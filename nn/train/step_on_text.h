// A training step on a text of one's own: a model from a directory, and what it is to predict. What
// `tapestry inspect` looks at.
//
//     const StepOnText step = step_on_text("model", "The cat sat");
//     const WatchedStep watched(*step.model, step.loss);
//     write_file_atomically("page.html", to_html(watched.inspector(), step.page(watched.loss())));
//
// Read next: nn/inspect/inspector.h, which takes it.
#pragma once

#include <tapestry/nn/data/tokenizer.h>
#include <tapestry/nn/module/module.h>
#include <tapestry/nn/pages/page.h>

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tapestry {

struct StepOnText {
    std::string directory;          ///< of the model
    std::string prompt;             ///< of a GPT, which reads nothing else; or empty
    std::shared_ptr<Module> model;  ///< in evaluation mode
    std::function<Tensor()> loss;
    DType products = DType::f32;  ///< what most of them are of
    std::string predicted;        ///< "11 characters predicted, each from those before it"
    std::vector<PageText> texts;
    std::function<std::string(std::int64_t)> name_of;  ///< the text of a token

    /// What a page says of it, when it has given `loss`.
    PageOptions page(double loss) const;
};

/// A GPT goes on with the prompt; an encoder-decoder reads it and writes the target. Throws
/// ValueError for a prompt or a target that the model cannot read, for a target that is missing or
/// too much, and what load_model() and load_transformer() throw.
StepOnText step_on_text(const std::string& directory, const std::string& prompt,
                        const std::optional<std::string>& target = {});

/// Tokens as text, one each. A token of bytes that are no whole character is what it is.
std::vector<std::string> token_texts(const Tokenizer& tokenizer, std::span<const std::int64_t> ids);

}  // namespace tapestry
