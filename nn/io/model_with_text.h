// A trained model and a text in its tokens, both from files: what `tapestry profile --model` and
// `gradcheck --model` work on. Read next: model_directory.h; tokenize_text.h.
#pragma once

#include <tapestry/nn/data/text.h>
#include <tapestry/nn/models/gpt.h>

#include <memory>
#include <string>

namespace tapestry {

struct ModelWithText {
    std::unique_ptr<GPT> model;  ///< in training mode
    TextData data;
};

/// Throws as load_model, require_tokenizer and tokenize_text do.
ModelWithText load_model_with_text(const std::string& model, const std::string& text);

}  // namespace tapestry
