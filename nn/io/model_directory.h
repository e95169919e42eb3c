// A trained model as a directory, in our own format or in Hugging Face's (nn/io/hugging_face.h).
// Ours is config.json, model.safetensors with the parameters under the modules' names, and the
// tokenizer: tokenizer.json for characters, GPT-2's vocab.json and merges.txt for byte pairs. Read
// next: transformer_directory.h, for encoder-decoders.
#pragma once

#include <tapestry/nn/data/text.h>
#include <tapestry/nn/data/tokenizer.h>
#include <tapestry/nn/io/commit.h>
#include <tapestry/nn/models/gpt.h>

#include <array>
#include <filesystem>
#include <memory>
#include <string>

namespace tapestry {

// ---- kinds of model -----------------------------------------------------------------------------

// To add a kind, write its files in nn/models, with the list of its configuration's fields,
// functions that save and load it (transformer_directory.h shows how), and a row here.

/// The kinds of model that a directory may hold.
enum class ModelKind {
    gpt,         ///< a GPT
    transformer  ///< a Transformer with encoder and decoder
};

/// A kind of model and its names.
struct ModelKindRow {
    ModelKind kind;    ///< the kind
    const char* key;   ///< "model" in config.json
    const char* name;  ///< in error messages
};

/// In the order of ModelKind.
inline constexpr std::array<ModelKindRow, 2> kModelKinds{
    {{ModelKind::gpt, "gpt", "a GPT"},
     {ModelKind::transformer, "transformer", "an encoder-decoder"}}};

/// The row of a kind.
constexpr const ModelKindRow& row_of(ModelKind kind) {
    return kModelKinds[static_cast<std::size_t>(kind)];
}

// ---- a GPT in a directory -----------------------------------------------------------------------

/// The kind of model that a directory holds; GPT-2 in Hugging Face's format is a GPT. Reads only
/// config.json. Throws IoError.
ModelKind model_kind(const std::filesystem::path& directory);

/// A GPT from a directory.
struct LoadedModel {
    std::unique_ptr<GPT> model;            ///< in evaluation mode
    std::unique_ptr<Tokenizer> tokenizer;  ///< null if there is none, in Hugging Face's format
};

/// Its tokenizer. Throws ValueError if the model, loaded from this directory, has none.
const Tokenizer& require_tokenizer(const LoadedModel& loaded,
                                   const std::filesystem::path& directory);

/// Writes our format, in one Commit (commit.h): a previous model survives a failure as a whole.
/// Creates the directory. Throws IoError; BusyError if a run is using the directory.
void save_model(const std::filesystem::path& directory, const GPT& model,
                const Tokenizer& tokenizer);

/// Throws what save_model would throw now for lack of access or space, and changes nothing: call it
/// before a long run. It writes the files, then removes them.
void check_can_save(const std::filesystem::path& directory, const GPT& model,
                    const Tokenizer& tokenizer);

/// The same as part of a larger commit, into one of its folders ("" for none): everything but the
/// weights, and the weights, by name.
void write_description(Commit& commit, const std::string& folder, const GPTConfig& config,
                       const Tokenizer& tokenizer);
/// The weights by name, into `folder`.
void write_weights(Commit& commit, const std::string& folder, const NamedTensors& weights);

/// Writes only the weights, which is what training changes.
void save_weights(const std::filesystem::path& directory, const GPT& model);

/// Only the tokenizer of a directory in our format. Throws IoError.
std::unique_ptr<Tokenizer> load_tokenizer(const std::filesystem::path& directory);

/// Reads a GPT in either format, according to config.json. Throws IoError, with the file and the
/// reason: another kind of model, missing, damaged, tensors that are missing, unknown or of another
/// shape than the configuration's, other bytes than were saved.
LoadedModel load_model(const std::filesystem::path& directory);

// ---- a model and a text in its tokens -----------------------------------------------------------

// The input of `tapestry profile --model` and `gradcheck --model`.

/// A model and a text in its tokens.
struct ModelWithText {
    std::unique_ptr<GPT> model;  ///< in training mode
    TextData data;               ///< the text, split as in training
};

/// Throws as load_model, require_tokenizer and tokenize_text do.
ModelWithText load_model_with_text(const std::string& model, const std::string& text);

}  // namespace tapestry
