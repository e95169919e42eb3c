// The table of models, a row for each kind, most of them language models. Training, checkpoints,
// model directories, evaluating, sampling, inspecting, rewinding and the command line read it and
// name no kind:
//
//     auto model = make_model(LlamaConfig{.vocab = 65, .layers = 2});
//
// To add a family that a LlamaConfig describes, add its name to LlamaFamily and a row in
// model_registry.cpp; its names in Hugging Face's files are a row of nn/io/decoder_formats.cpp. To
// add another kind, write its folder (nn/models/llama is an example): a configuration with its list
// of fields and its cost, and a LanguageModel (language_model.h). Then add the configuration to
// ModelConfig, here, and a row, in model_registry.cpp.
#pragma once

#include <tapestry/core/random.h>
#include <tapestry/nn/models/bag/bag_config.h>
#include <tapestry/nn/models/custom_config.h>
#include <tapestry/nn/models/gpt_config.h>
#include <tapestry/nn/models/llama/llama_config.h>
#include <tapestry/nn/models/masked_language_model_config.h>
#include <tapestry/nn/models/span/span_config.h>
#include <tapestry/nn/models/table/table_config.h>
#include <tapestry/nn/models/transformer_config.h>
#include <tapestry/nn/models/vision_transformer_config.h>

#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tapestry {

class LanguageModel;

// ---- configurations -----------------------------------------------------------------------------

/// The configuration of a model of any kind that a task trains (nn/train/task.h). Each has the
/// functions parameter_count, training_bytes and step_flops, and each language model's has the
/// fields of CommonSettings.
using ModelConfig =
    std::variant<GPTConfig, LlamaConfig, BagConfig, TransformerConfig, VisionTransformerConfig,
                 MaskedLanguageModelConfig, SpanConfig, TableConfig, CustomConfig>;

/// The settings that all language models have. Of another model, `context` is 1 (of masked tokens:
/// the longest sequence), what it has no field for is 0, and `vocab` is the number of its classes,
/// of the tokens that it writes, or of the places that it may point at.
struct CommonSettings {
    std::int64_t vocab = 0;                  ///< V, tokens in the vocabulary
    std::int64_t context = 0;                ///< maximum number of tokens that it sees
    std::int64_t layers = 0;                 ///< number of blocks
    std::int64_t heads = 0;                  ///< of attention
    std::int64_t dim = 0;                    ///< C, width of the model
    double dropout = 0;                      ///< probability, in training
    ComputeType compute = ComputeType::f32;  ///< type of activations
    ComputeType weights = ComputeType::f32;  ///< type of the parameters
};

/// Those of a configuration.
CommonSettings common_settings(const ModelConfig& config);

/// Sets the number of tokens that a model sees at most; nothing where it has no such field.
void set_context(ModelConfig& config, std::int64_t context);

/// Total number of parameters; a double, because a configuration from a file may be absurd.
double parameter_count(const ModelConfig& config);

/// Estimated peak memory of training, in bytes, as gpt_config.h explains.
double training_bytes(const ModelConfig& config, std::int64_t batch, std::int64_t gradient_sets = 1,
                      std::int64_t moments = 2);

/// Floating-point operations of the matrix products of one training step, as gpt_config.h explains.
double step_flops(const ModelConfig& config, std::int64_t batch);

/// Type of the operands of its matrix products.
DType product_dtype(const ModelConfig& config);

/// Checks before training whether it fits into memory, because the system kills a program that
/// exceeds it.
///
/// Throws ValueError, with the amount needed, when training_bytes() estimates more memory than the
/// system or the container can provide.
void check_memory(const ModelConfig& config, std::int64_t batch, std::int64_t gradient_sets = 1,
                  std::int64_t moments = 2);

// ---- kinds --------------------------------------------------------------------------------------

/// A kind of model.
struct ModelRow {
    const char* name;      ///< in config.json and on the command line: "gpt"
    const char* title;     ///< in reports: "GPT"
    const char* phrase;    ///< in messages: "a GPT"
    const char* summary;   ///< for help
    ModelConfig defaults;  ///< a configuration of this kind
    /// Makes a language model; null for another kind of model, which its task makes. Throws as the
    /// model's constructor does.
    std::unique_ptr<LanguageModel> (*make)(const ModelConfig& config, Generator& generator);
    const char* task = "text";  ///< what it is trained for (nn/train/task.h)
};

/// All kinds of the library, in the order of ModelConfig; a LlamaConfig has a row for each family.
/// The first is the default.
const std::vector<ModelRow>& model_rows();

/// Adds a row for the models of a custom task, whose configuration is a CustomConfig with that
/// name: the functions below know it. register_task (nn/train/task.h) calls this. Throws ValueError
/// for a name that is empty or taken.
void register_custom_model(const std::string& task);

/// "gpt", "llama", ...: the names of all rows, then the registered ones.
std::vector<std::string> model_names();

/// The row of this name. Throws ValueError, with the names that there are, if there is none.
const ModelRow& model_row(std::string_view name);

/// The row of a configuration. Throws ValueError for a CustomConfig of a name that is not
/// registered.
const ModelRow& row_of(const ModelConfig& config);

/// A language model with random weights. Throws ValueError for another kind of model, and as its
/// constructor does.
std::unique_ptr<LanguageModel> make_model(const ModelConfig& config,
                                          Generator& generator = default_generator());

}  // namespace tapestry
