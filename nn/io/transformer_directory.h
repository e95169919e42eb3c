// A trained encoder-decoder as a directory, in the format that model_directory.h has for GPTs:
// config.json, model.safetensors with the parameters under the modules' names, and the tokenizer's
// files. config.json defines the marks.
#pragma once

#include <tapestry/nn/data/marked_vocabulary.h>
#include <tapestry/nn/io/commit.h>
#include <tapestry/nn/models/transformer.h>

#include <filesystem>
#include <memory>
#include <string>

namespace tapestry {

/// An encoder-decoder from a directory.
struct LoadedTransformer {
    std::unique_ptr<Transformer> model;  ///< in evaluation mode
    MarkedVocabulary vocabulary;         ///< of both input and output
};

/// Writes a model; a previous one survives a failure. Creates the directory. Throws IoError, and
/// ValueError if the vocabulary does not fit the model: if its size is not that of the input or
/// output ids, or its marks (including the model's padding) are not distinct ids below `first`.
void save_model(const std::filesystem::path& directory, const Transformer& model,
                const MarkedVocabulary& vocabulary);

/// Throws what save_model would throw now, and changes nothing: call it before training.
void check_can_save(const std::filesystem::path& directory, const Transformer& model,
                    const MarkedVocabulary& vocabulary);

/// Writes everything but the weights (write_weights in model_directory.h) into a folder of the
/// directory, "" for none. Throws ValueError as save_model does.
void write_description(Commit& commit, const std::string& folder, const TransformerConfig& config,
                       const MarkedVocabulary& vocabulary);

/// Only the vocabulary of a directory. Throws IoError.
MarkedVocabulary load_marked_vocabulary(const std::filesystem::path& directory);

/// Reads a model. Throws IoError, with the file and the reason, as load_model does; also for a
/// directory that holds a language model (see model_kind).
LoadedTransformer load_transformer(const std::filesystem::path& directory);

}  // namespace tapestry
