#include <tapestry/nn/io/foreign_tokenizer.h>

#include <tapestry/core/text/json_writer.h>
#include <tapestry/nn/io/config_file.h>
#include <tapestry/nn/io/manifest.h>
#include <tapestry/nn/io/model_files.h>

namespace tapestry {
namespace {

namespace fs = std::filesystem;

// With this setting transformers puts a space before every text; the ids would differ.
void check_no_prefix_space(const SavedFiles& files) {
    constexpr const char* kSetting = "add_prefix_space";
    const fs::path path = files.path(kTokenizerConfigName);
    if (!is_there(path)) return;
    const ConfigFile file(path);
    require<IoError>(!file.get<bool>(kSetting, false),
                     "{}: \"{}\" is true, which is not supported; set it to false, and begin the "
                     "text with a space instead",
                     file.path(), kSetting);
}

}  // namespace

std::unique_ptr<Tokenizer> read_foreign_tokenizer(const ConfigFile& file, const SavedFiles& files,
                                                  TokenizerFiles order) {
    const auto kind = file.get<std::string>(kTokenizerSetting, "");
    if (kind == "none") return nullptr;
    const fs::path characters = files.path(kCharTokenizerName), json = files.path(kTokenizerName);
    if (kind == "char") return read_char_tokenizer(characters);
    const bool is_json = order == TokenizerFiles::json_first && kind.empty() && is_there(json);
    if (kind == "json" || is_json) return read_json_tokenizer(json);
    if (auto tokenizer = read_byte_pair_tokenizer(files)) {
        check_no_prefix_space(files);
        return tokenizer;
    }
    if (is_there(characters)) return read_char_tokenizer(characters);
    return is_there(json) ? read_json_tokenizer(json) : nullptr;
}

std::optional<std::int64_t> text_end(const Tokenizer* tokenizer) {
    if (tokenizer == nullptr || tokenizer->kind() == "char") return std::nullopt;
    return tokenizer->end_of_text();
}

std::vector<NewFile> foreign_tokenizer_files(const Tokenizer& tokenizer,
                                             const TextConventions& conventions,
                                             std::int64_t context) {
    std::vector<NewFile> files = tokenizer_files(tokenizer, kCharTokenizerName);
    if (tokenizer.kind() == "char") return files;
    const bool known = conventions.bos || !conventions.eos.empty();
    std::optional<std::int64_t> bos = conventions.bos, eos;
    if (!conventions.eos.empty()) eos = conventions.eos.front();
    if (!known) bos = eos = tokenizer.end_of_text();
    JsonWriter json(2);
    const auto token = [&](const char* name, std::optional<std::int64_t> id) {
        const bool has_text = id && *id >= 0 && *id < tokenizer.vocab_size();
        if (has_text) json.member(name, tokenizer.decode({&*id, 1}));
    };
    json.object([&] {
        json.member("add_prefix_space", false);
        token("bos_token", bos);
        if (!conventions.chat_template.empty()) {
            json.member("chat_template", conventions.chat_template);
        }
        json.member("clean_up_tokenization_spaces", false);
        token("eos_token", eos);
        json.member("model_max_length", context);
        json.member("tokenizer_class",
                    tokenizer.kind() == "bpe" ? "GPT2Tokenizer" : "PreTrainedTokenizerFast");
    });
    files.push_back(text_file(kTokenizerConfigName, json.text() + "\n"));
    return files;
}

}  // namespace tapestry
