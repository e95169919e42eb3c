// A trained encoder-decoder as a directory, beside the GPTs of model_directory.h and like them:
// config.json, model.safetensors with the parameters under the modules' names, and tokenizer.json
// with the characters. What the marks are stands in config.json.
#pragma once

#include <tapestry/nn/data/tokenizer.h>
#include <tapestry/nn/models/transformer.h>

#include <filesystem>
#include <memory>

namespace tapestry {

struct LoadedTransformer {
    std::unique_ptr<Transformer> model;  ///< in evaluation mode
    MarkedCharacters vocabulary;         ///< of what it reads, and of what it writes
};

/// Writes it; a previous model survives a failure. Creates the directory. Throws IoError, and
/// ValueError if the vocabulary is not the model's: another size than the ids it reads or writes,
/// or marks (the model's padding is one) that are not different ids below `first`.
void save_model(const std::filesystem::path& directory, const Transformer& model,
                const MarkedCharacters& vocabulary);

/// Throws what save_model would throw now, and changes nothing: to be called before a training.
void check_can_save(const std::filesystem::path& directory, const Transformer& model,
                    const MarkedCharacters& vocabulary);

/// Reads it back. Throws IoError naming the file and what is wrong with it, as load_model does;
/// also for a directory that holds a GPT: model_kind tells before.
LoadedTransformer load_transformer(const std::filesystem::path& directory);

}  // namespace tapestry
