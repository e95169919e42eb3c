// What all kinds of model directory have in common, ours for GPTs and for encoder-decoders and
// Hugging Face's: files that take their places together, tokenizers, weights found by name.
// Internal to nn/io.
#pragma once

#include <tapestry/nn/data/bpe.h>
#include <tapestry/nn/data/tokenizer.h>
#include <tapestry/nn/io/commit.h>
#include <tapestry/nn/io/config_file.h>
#include <tapestry/nn/io/model_directory.h>
#include <tapestry/nn/models/gpt.h>
#include <tapestry/nn/models/transformer.h>

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace tapestry {

/// A file of a directory, not there yet.
struct NewFile {
    std::string name;
    FileWriter write;
};

/// Writes all files and then lets them take their places in `directory`, which is made if need be,
/// in one Commit: whatever happens, no new configuration is ever found beside old weights. Throws
/// IoError; BusyError if a training is at work there.
void put_files(const std::filesystem::path& directory, const std::vector<NewFile>& files);

/// Throws what put_files would throw for want of a place or of room, and changes nothing.
void check_can_put(const std::filesystem::path& directory, const std::vector<NewFile>& files);

/// Throws IoError for the first file that models are read from and that is not what was saved.
void check_model_files(const SavedFiles& files);

/// A text, written through write_file_atomically.
NewFile text_file(std::string name, std::string text);

/// Parameters and buffers by their names, with `format` beside them.
NewFile weights_file(NamedTensors weights, std::string format);

/// What a config.json says it is of. Throws IoError for what we do not know.
ModelKind kind_in(const ConfigFile& file);
/// Throws IoError if that is another kind, or of a format that we do not know.
void check_kind(const ConfigFile& file, ModelKind needed);

/// The tokenizer as files: characters in `char_name`, byte pairs in vocab.json and merges.txt.
std::vector<NewFile> tokenizer_files(const Tokenizer& tokenizer, const std::string& char_name);

/// Reads them back. Throws IoError in the file's name.
std::unique_ptr<CharTokenizer> read_char_tokenizer(const std::filesystem::path& file);
/// vocab.json and merges.txt, or under OpenAI's names encoder.json and vocab.bpe; null if there is
/// none of them. Throws IoError for one without the other.
std::unique_ptr<Tokenizer> read_byte_pair_tokenizer(const SavedFiles& files);

/// Throws IoError unless the tokenizer is one for the model: a character per id, or at most as many
/// byte pairs, for tables are often padded.
void check_vocabulary(const Tokenizer& tokenizer, const GPTConfig& config,
                      const std::filesystem::path& directory);

/// A model of this configuration, its weights still to be filled in. Throws IoError in the name of
/// config.json for settings that no model can have and, before any memory is asked for, for a model
/// that is far larger than the file with the weights.
std::unique_ptr<GPT> make_model(const GPTConfig& config, const SavedFiles& files);
std::unique_ptr<Transformer> make_model(const TransformerConfig& config, const SavedFiles& files);

/// Reads model.safetensors, written by weights_file, into the parameters and buffers. Throws
/// IoError as fill_parameters and check_all_used do.
void load_weights(const SavedFiles& files, const Module& model);

/// Where a parameter's values lie in a file.
struct StoredParameter {
    std::string name;
    Tensor parameter;
    bool transposed = false;
};

/// Copies the stored tensors into the parameters, and takes them out of `stored`. Throws IoError
/// naming file and tensor if one is missing or has another shape or dtype.
void fill_parameters(const std::string& file, std::map<std::string, Tensor>& stored,
                     const std::vector<StoredParameter>& parameters);

/// Throws IoError naming the first of the tensors that nothing has asked for.
void check_all_used(const std::string& file, const std::map<std::string, Tensor>& stored);

// ---- byte pairs for Hugging Face's tokenizers ---------------------------------------------------

/// The text of a tokenizer.json, which is written and never read. Its tokenizer gives every text
/// the ids that ours gives, and <|endoftext|> is a special token in it.
std::string tokenizer_json(const BytePairTokenizer& tokenizer);

}  // namespace tapestry
