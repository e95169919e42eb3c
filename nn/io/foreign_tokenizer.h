// The tokenizer of a directory in Hugging Face's format. Internal to nn/io.
#pragma once

#include <tapestry/nn/data/tokenizer.h>
#include <tapestry/nn/io/model_files.h>
#include <tapestry/nn/io/text_conventions.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace tapestry {

class ConfigFile;
class SavedFiles;

/// Setting of config.json with which exports name their tokenizer: "char", "bpe", "json" or "none".
inline constexpr const char* kTokenizerSetting = "tapestry_tokenizer";

/// Reads the tokenizer that the config.json names, or that is there, first of all tokenizer.json;
/// null if there is none. It begins texts with the token that transformers puts there, by the
/// post-processor or by add_bos_token in tokenizer_config.json. Throws IoError for files that are
/// invalid, and for a tokenizer_config.json that asks for add_prefix_space where transformers heeds
/// it, or declares added tokens that tokenizer.json does not have with these ids.
std::unique_ptr<Tokenizer> read_foreign_tokenizer(const ConfigFile& file, const SavedFiles& files);

/// The id that ends texts, if the format's tokenizers know it: characters' do not.
std::optional<std::int64_t> text_end(const Tokenizer* tokenizer);

/// The tokenizer's files in Hugging Face's format, with a tokenizer_config.json for one that
/// transformers knows: the tokens of the ids that begin and end texts, the chat template, and the
/// longest text; and generation_config.json if there is something to say.
std::vector<NewFile> foreign_tokenizer_files(const Tokenizer& tokenizer,
                                             const TextConventions& conventions,
                                             std::int64_t context);

}  // namespace tapestry
