// A model's conventions for texts, in addition to its tokenizer: the ids that begin and end them,
// and the chat template. It is kept through training, merging and exporting. Read next:
// nn/chat/chat_template.h.
#pragma once

#include <tapestry/nn/chat/chat_template.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace tapestry {

class ConfigFile;
class ConfigWriter;
class JsonWriter;
class SavedFiles;
class Tokenizer;

/// The conventions of a directory.
struct TextConventions {
    /// The id of tokenizer_config.json's bos_token; without it, config.json's bos_token_id.
    std::optional<std::int64_t> bos = {};
    /// generation_config.json's eos_token_id, one or several, or config.json's; without either, the
    /// id of tokenizer_config.json's eos_token, which otherwise comes first if it is one of them.
    std::vector<std::int64_t> eos = {};
    std::string chat_template = {};  ///< a program in Jinja; empty: none
    // Not used here, but by other programs that read an export.
    std::optional<std::int64_t> pad =
        {};                      ///< pad_token_id of config.json, or generation_config.json
    std::string pad_token = {};  ///< as special_token() reads it; empty: none
    std::string unk_token = {};  ///< the same
    std::vector<std::string> additional_tokens = {};  ///< additional_special_tokens, likewise
    /// generation_config.json's "temperature" and other settings that are no ids: a JSON object, or
    /// empty.
    std::string generation = {};
};

/// The form of conversations. `given` is the name of a ChatStyle, a file *.jinja, or a program;
/// empty: the directory's program or, without one, the plain style. `system`, which may be empty,
/// is the message in front of conversations without one; nullopt: the template's. Throws ValueError
/// as chat_style_of() does, and IoError for a file that cannot be read.
ChatTemplate chosen_template(const TextConventions& conventions, const Tokenizer& tokenizer,
                             const std::string& given = {},
                             const std::optional<std::string>& system = {});

/// Those of a directory, in our format or Hugging Face's: config.json, generation_config.json, and
/// chat_template.jinja or tokenizer_config.json. An eos_token is not read, because only a tokenizer
/// has its id. Throws IoError for invalid files.
TextConventions load_text_conventions(const std::filesystem::path& directory);

/// The same for a config.json that is open, and with eos_token. Declares the ends to the tokenizer
/// (Tokenizer::declare_ends), which may be null; characters have none. For nn/io.
TextConventions read_text_conventions(const ConfigFile& file, const SavedFiles& files,
                                      Tokenizer* tokenizer);
/// The token of this role ("bos_token") in tokenizer_config.json, otherwise in
/// special_tokens_map.json: a text, or an object with its content. Throws IoError for another
/// value. For nn/io.
std::optional<std::string> special_token(const SavedFiles& files, const char* role);
/// Gives a new model the ids that begin and end texts as the tokenizer of its data declares them.
/// Those that are known already stay.
void add_declared(const Tokenizer& tokenizer, TextConventions& conventions);
/// The ids of a setting that is an id or a list of ids; none if it is missing. For nn/io.
std::vector<std::int64_t> token_ids_in(const ConfigFile& file, const char* name);
/// The chat template of a directory of Hugging Face's, or next to an adapter; empty: none. For
/// nn/io.
std::string chat_template_in(const SavedFiles& files);
/// Into our config.json. For nn/io.
void write_text_conventions(ConfigWriter& file, const TextConventions& conventions);
/// The text of generation_config.json, for a directory of Hugging Face's or an adapter; empty if
/// there is nothing to say. For nn/io.
std::string generation_config(const TextConventions& conventions);
/// bos_token_id, eos_token_id and pad_token_id of Hugging Face's config.json; without any of the
/// first two, `end` for both.
/// For nn/io.
void write_text_ids(JsonWriter& json, const TextConventions& conventions,
                    std::optional<std::int64_t> end);

}  // namespace tapestry
