// A trained model of masked tokens as a directory, in the format that model_directory.h has for
// language models: config.json, model.safetensors and the tokenizer; the mask is the id after the
// tokenizer's. Read next: nn/models/masked_language_model.h.
#pragma once

#include <tapestry/nn/data/tokenizer.h>
#include <tapestry/nn/models/masked_language_model.h>

#include <filesystem>
#include <memory>

namespace tapestry {

/// A model of masked tokens from a directory.
struct LoadedMaskedModel {
    std::unique_ptr<MaskedLanguageModel> model;  ///< in evaluation mode
    std::unique_ptr<Tokenizer> tokenizer;        ///< of one token less than the model's
};

/// Reads a model. Throws IoError, with the file and the reason, as load_model does.
LoadedMaskedModel load_masked_model(const std::filesystem::path& directory);

}  // namespace tapestry
