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

/// Which files count if a directory has several.
enum class TokenizerFiles {
    pairs_first,  ///< vocab.json and merges.txt before tokenizer.json
    json_first    ///< the other way round
};

/// Reads the tokenizer that the config.json names, or that is there; null if there is none. Throws
/// IoError for files that are invalid, and for add_prefix_space in tokenizer_config.json.
std::unique_ptr<Tokenizer> read_foreign_tokenizer(const ConfigFile& file, const SavedFiles& files,
                                                  TokenizerFiles order);

/// The id that ends texts, if the format's tokenizers know it: characters' do not.
std::optional<std::int64_t> text_end(const Tokenizer* tokenizer);

/// The tokenizer's files in Hugging Face's format, with a tokenizer_config.json for one that
/// transformers knows: the tokens of the ids that begin and end texts, the chat template, and the
/// longest text.
std::vector<NewFile> foreign_tokenizer_files(const Tokenizer& tokenizer,
                                             const TextConventions& conventions,
                                             std::int64_t context);

}  // namespace tapestry
