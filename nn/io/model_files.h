// Shared by all kinds of model directory, ours for language models and for encoder-decoders and
// Hugging Face's: files replaced together, tokenizers, weights by name. Internal to nn/io.
#pragma once

#include <tapestry/nn/data/bpe.h>
#include <tapestry/nn/data/tokenizer.h>
#include <tapestry/nn/io/commit.h>
#include <tapestry/nn/io/config_file.h>
#include <tapestry/nn/io/model_directory.h>
#include <tapestry/nn/models/bag/bag.h>
#include <tapestry/nn/models/language_model.h>
#include <tapestry/nn/models/masked_language_model.h>
#include <tapestry/nn/models/span/span_reader.h>
#include <tapestry/nn/models/table/table_network.h>
#include <tapestry/nn/models/transformer.h>
#include <tapestry/nn/models/vision_transformer.h>
#include <tapestry/nn/module/deferred_tensor.h>

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace tapestry {

/// A file to be written into a directory.
struct NewFile {
    std::string name;
    FileWriter write;
};

/// Writes all files and moves them into `directory`, which is created if necessary, in one Commit:
/// a new configuration is never found with old weights. Throws IoError; BusyError if a run is using
/// the directory.
void put_files(const std::filesystem::path& directory, const std::vector<NewFile>& files);

/// Throws what put_files would throw for lack of access or space, and changes nothing.
void check_can_put(const std::filesystem::path& directory, const std::vector<NewFile>& files);

/// Throws IoError for the first file of a model that is not what was saved.
void check_model_files(const SavedFiles& files);

/// A text file, written by write_file_atomically.
NewFile text_file(std::string name, std::string text);

/// Adds config.json to a commit, in a folder of its directory, "" for none.
void write_config(Commit& commit, const std::string& folder, std::string text);

/// Parameters and buffers by name, with `format` in the metadata.
NewFile weights_file(DeferredTensors weights, std::string format);

/// "model" of an encoder-decoder's config.json.
inline constexpr const char* kTransformerKind = "transformer";

/// The kind in a config.json. Throws IoError for an unknown one.
ModelKind kind_in(const ConfigFile& file);
/// Throws IoError for the other kind, or an unknown format.
void check_kind(const ConfigFile& file, ModelKind needed);

/// Throws IoError if a model of this many parameters is far larger than its weights file: call it
/// before allocating memory, because a configuration from a file may be absurd.
void check_model_size(double parameters, const SavedFiles& files);

/// The tokenizer's files: characters in `char_name`, byte pairs in vocab.json and merges.txt, those
/// of a tokenizer.json in that.
std::vector<NewFile> tokenizer_files(const Tokenizer& tokenizer, const std::string& char_name);

/// Reads characters. Throws IoError that names the file.
std::unique_ptr<CharTokenizer> read_char_tokenizer(const std::filesystem::path& file);
/// Reads a tokenizer.json of Hugging Face's. Throws IoError that names the file.
std::unique_ptr<Tokenizer> read_json_tokenizer(const std::filesystem::path& file);
/// Reads vocab.json and merges.txt, or OpenAI's encoder.json and vocab.bpe; null if there are none
/// of them. Throws IoError for one without the other.
std::unique_ptr<Tokenizer> read_byte_pair_tokenizer(const SavedFiles& files);

/// The tokenizer that config.json names. Throws IoError.
std::unique_ptr<Tokenizer> read_tokenizer(const ConfigFile& file, const SavedFiles& files);

/// Throws IoError unless the tokenizer fits the model: a character per id, or at most as many byte
/// pairs, because tables are often padded.
void check_vocabulary(const Tokenizer& tokenizer, std::int64_t vocab,
                      const std::filesystem::path& directory);

/// Constructs a model whose weights are still to be loaded, with parameters in bf16 if `weights`
/// is. Throws IoError, naming config.json, for settings that are invalid and, before allocating
/// memory, if the model is far larger than the weights file.
std::unique_ptr<LanguageModel> make_model(const ModelConfig& config, const SavedFiles& files,
                                          WeightType weights = WeightType::f32);
std::unique_ptr<Transformer> make_model(const TransformerConfig& config, const SavedFiles& files);
std::unique_ptr<BagClassifier> make_model(const BagConfig& config, const SavedFiles& files);
std::unique_ptr<MaskedLanguageModel> make_model(const MaskedLanguageModelConfig& config,
                                                const SavedFiles& files);
std::unique_ptr<VisionTransformer> make_model(const VisionTransformerConfig& config,
                                              const SavedFiles& files);
std::unique_ptr<SpanReader> make_model(const SpanConfig& config, const SavedFiles& files);
std::unique_ptr<TableNetwork> make_model(const TableConfig& config, const SavedFiles& files);

/// Reads model.safetensors, written by weights_file, into the parameters and buffers. For int8 the
/// layers are quantised while it is read (quantize_when_filled). Throws IoError as read_parameters
/// and check_all_used do.
void load_weights(const SavedFiles& files, Module& model, WeightType weights = WeightType::f32);

/// A parameter and its name in a file.
struct StoredParameter {
    std::string name;
    Tensor parameter;
    bool transposed = false;
    Shape shape = {};  ///< in the file, if it is another one, of the same elements in order
    std::function<void()> filled = {};  ///< called once it has been read
};

/// Copies a stored tensor into the parameter, converted between f32 and narrow types. Throws
/// IoError, with file and tensor, if it has another shape or dtype.
void fill_parameter(const std::string& file, const StoredParameter& parameter,
                    const Tensor& stored);

/// Some files store the tied head's weight a second time: removes it. Throws IoError if, in the
/// type of the model, it is not the embedding, whose name in the file is `table`.
void drop_copy_of_head(const std::string& file, std::map<std::string, Tensor>& stored,
                       const std::string& head, const std::string& table, const Tensor& embedding);

/// Throws IoError naming the first unused tensor.
void check_all_used(const std::string& file, const std::map<std::string, Tensor>& stored);

// ---- byte pairs for Hugging Face's tokenizers ---------------------------------------------------

/// The text of a tokenizer.json. Its tokenizer encodes every text as ours does, with <|endoftext|>
/// as a special token.
std::string tokenizer_json(const BytePairTokenizer& tokenizer);

}  // namespace tapestry
