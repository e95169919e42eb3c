#include <tapestry/nn/io/foreign_tokenizer.h>

#include <tapestry/nn/io/config_file.h>
#include <tapestry/nn/io/manifest.h>
#include <tapestry/nn/io/model_files.h>

namespace tapestry {
namespace {

namespace fs = std::filesystem;

// With this setting transformers puts a space before every text; the ids would differ.
void check_no_prefix_space(const SavedFiles& files) {
    constexpr const char* kSetting = "add_prefix_space";
    const fs::path path = files.directory() / "tokenizer_config.json";
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

}  // namespace tapestry
