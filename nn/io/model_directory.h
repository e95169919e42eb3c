// A trained model as a directory, in our own format or in Hugging Face's (nn/io/hugging_face.h).
// Ours is config.json, model.safetensors with the parameters under the modules' names, and the
// tokenizer: tokenizer.json for characters, GPT-2's vocab.json and merges.txt for byte pairs. Read
// next: transformer_directory.h, for encoder-decoders.
#pragma once

#include <tapestry/nn/data/text.h>
#include <tapestry/nn/data/tokenizer.h>
#include <tapestry/nn/io/commit.h>
#include <tapestry/nn/io/text_conventions.h>
#include <tapestry/nn/layers/linear.h>
#include <tapestry/nn/models/language_model.h>
#include <tapestry/nn/module/deferred_tensor.h>

#include <filesystem>
#include <memory>
#include <string>

namespace tapestry {

// ---- a language model in a directory ------------------------------------------------------------

/// The kinds of model that a directory may hold.
enum class ModelKind {
    language_model,       ///< of any kind in nn/models/model_registry.h
    transformer,          ///< a Transformer with encoder and decoder
    classifier,           ///< a text classifier (classifier_directory.h)
    image_classifier,     ///< an image classifier (image_classifier_directory.h)
    masked,               ///< a model of masked tokens (encoder_directory.h)
    span_reader,          ///< a model that points at answers (encoder_directory.h)
    table,                ///< a model of a table (table_directory.h)
    custom,               ///< a registered task's (custom_directory.h)
    gpt = language_model  ///< the name from when a GPT was the only one
};

/// The kind of model in a directory; those in Hugging Face's format are language models. Reads only
/// config.json. Throws IoError.
ModelKind model_kind(const std::filesystem::path& directory);

/// The name of the task (nn/train/task.h) that the model in a directory is of. Throws as model_kind
/// does.
std::string task_of_model(const std::filesystem::path& directory);

/// A language model from a directory.
struct LoadedModel {
    std::unique_ptr<LanguageModel>
        model;  ///< in evaluation mode; as<GPT>(*model) for a GPT's parts
    std::unique_ptr<Tokenizer> tokenizer;  ///< null if there is none, in Hugging Face's format
    TextConventions conventions = {};      ///< what else its directory says of texts
};

/// Its tokenizer. Throws ValueError if the model, loaded from this directory, has none.
const Tokenizer& require_tokenizer(const LoadedModel& loaded,
                                   const std::filesystem::path& directory);

/// Writes our format, in one Commit (commit.h): a previous model survives a failure as a whole.
/// Creates the directory. Throws IoError; BusyError if a run is using the directory.
void save_model(const std::filesystem::path& directory, const LanguageModel& model,
                const Tokenizer& tokenizer, const TextConventions& conventions = {});

/// Throws what save_model would throw now for lack of access or space, and changes nothing: call it
/// before a long run. It writes the files, then removes them.
void check_can_save(const std::filesystem::path& directory, const LanguageModel& model,
                    const Tokenizer& tokenizer);

/// The same as part of a larger commit, into one of its folders ("" for none): everything but the
/// weights, and the weights, by name.
void write_description(Commit& commit, const std::string& folder, const ModelConfig& config,
                       const Tokenizer& tokenizer, const TextConventions& conventions = {});
/// The weights by name, into `folder`.
void write_weights(Commit& commit, const std::string& folder, const ModelConfig& config,
                   const DeferredTensors& weights);

/// Writes only the weights, which is what training changes.
void save_weights(const std::filesystem::path& directory, const LanguageModel& model);

/// Only the tokenizer of a directory in our format. Throws IoError.
std::unique_ptr<Tokenizer> load_tokenizer(const std::filesystem::path& directory);

/// Reads a language model of any kind, or one in Hugging Face's format, according to
/// config.json. Throws IoError, with the file and the reason: an encoder-decoder, missing, damaged,
/// tensors that are missing, unknown or of another shape than the configuration's, other bytes than
/// were saved. Weights become of the type `weights` while they are read, as quantize_weights would
/// make them: all of them in f32 are never in RAM, although address space is reserved for them.
LoadedModel load_model(const std::filesystem::path& directory,
                       WeightType weights = WeightType::f32);

// ---- a model and a text in its tokens -----------------------------------------------------------

// The input of `tapestry profile --model` and `gradcheck --model`.

/// A model and a text in its tokens.
struct ModelWithText {
    std::unique_ptr<LanguageModel> model;  ///< in training mode
    TextData data;                         ///< the text, split as in training
};

/// Throws as load_model, require_tokenizer and tokenize_text do.
ModelWithText load_model_with_text(const std::string& model, const std::string& text);

}  // namespace tapestry
