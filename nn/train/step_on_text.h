// A training step on your own text: a model from a directory and the text that it must predict.
// This is what `tapestry inspect` shows.
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

/// A model and the loss of its step on a text.
struct StepOnText {
    std::string directory;          ///< the model's
    std::string prompt;             ///< a language model's prompt, its only input; or empty
    std::shared_ptr<Module> model;  ///< in evaluation mode
    std::function<Tensor()> loss;   ///< computes the loss
    DType products = DType::f32;    ///< element type of most matrix products
    std::string predicted;          ///< "11 characters predicted, each from those before it"
    std::vector<PageText> texts;    ///< the tokens, for the page
    std::function<std::string(std::int64_t)> name_of;  ///< a token's text
    std::optional<PageImage> image = {};               ///< what an image classifier sees

    /// The page's description of the step, given its loss.
    PageOptions page(double loss) const;
};

/// A language model continues the prompt; an encoder-decoder reads it and writes the target; of a
/// classifier the target is the prompt's label, and of an image classifier the prompt is an image
/// file; of a registered task both are what its batch_of_prompt() reads. Throws ValueError for a
/// prompt or target that the model cannot read, for a missing or superfluous target, and as
/// load_model() and load_transformer() do.
StepOnText step_on_text(const std::string& directory, const std::string& prompt,
                        const std::optional<std::string>& target = {});

/// The text of each token, "[id]" for an id that is none. Bytes that are not a whole character are
/// returned unchanged.
std::vector<std::string> token_texts(const Tokenizer& tokenizer, std::span<const std::int64_t> ids);

}  // namespace tapestry
