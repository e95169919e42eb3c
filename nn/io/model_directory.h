// A trained model as a directory: config.json, model.safetensors, tokenizer.json.
#pragma once

#include <tapestry/nn/data/tokenizer.h>
#include <tapestry/nn/gpt.h>

#include <filesystem>
#include <memory>

namespace tapestry {

struct LoadedModel {
    std::unique_ptr<GPT> model;
    CharTokenizer tokenizer;
};

/// Writes the three files, each through a temporary file and a rename: a previous model survives a
/// failure. Creates the directory. Throws IoError.
void save_model(const std::filesystem::path& directory, const GPT& model,
                const CharTokenizer& tokenizer);

/// Throws what save_model would throw now for want of a place or of room, and changes nothing: to
/// be called before a long training rather than after it. It writes the files, and removes them.
void check_can_save(const std::filesystem::path& directory, const GPT& model,
                    const CharTokenizer& tokenizer);

/// Only the weights: what changes while training.
void save_weights(const std::filesystem::path& directory, const GPT& model);

/// Reads them back. Throws IoError naming the file and what is wrong with it: missing, damaged,
/// tensors missing, unknown, or of another shape than the configuration says.
LoadedModel load_model(const std::filesystem::path& directory);

}  // namespace tapestry
