#include <tapestry/nn/io/foreign_tokenizer.h>

#include <tapestry/core/text/json_tree.h>
#include <tapestry/core/text/json_writer.h>
#include <tapestry/core/text/utf8.h>
#include <tapestry/nn/data/bpe.h>
#include <tapestry/nn/io/config_file.h>
#include <tapestry/nn/io/manifest.h>
#include <tapestry/nn/io/model_files.h>
#include <tapestry/nn/tokenizers/json_tokenizer.h>
#include <tapestry/nn/tokenizers/post_processor.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>
#include <utility>

namespace tapestry {
namespace {

namespace fs = std::filesystem;

// Whether transformers heeds add_prefix_space: in a tokenizer.json where the pre-tokenizer is
// nothing but ByteLevel.
bool may_add_space(const Tokenizer& tokenizer) {
    const auto* const json = dynamic_cast<const JsonTokenizer*>(&tokenizer);
    if (json == nullptr) return tokenizer.kind() == "bpe";
    const JsonTree tree(json->json());
    const auto before = tree.root().find("pre_tokenizer");
    const auto type = before ? before->find("type") : std::nullopt;
    return type && type->is(JsonKind::string) && type->get<std::string>() == "ByteLevel";
}

// With this setting transformers puts a space before every text; the ids would differ.
void check_no_prefix_space(const ConfigFile& file, const Tokenizer& tokenizer) {
    constexpr const char* kSetting = "add_prefix_space";
    require<IoError>(!file.get<bool>(kSetting, false) || !may_add_space(tokenizer),
                     "{}: \"{}\" is true, which is not supported; set it to false, and begin the "
                     "text with a space instead",
                     file.path(), kSetting);
}

// The class of transformers, of two forms the slow one: "LlamaTokenizer"; empty if none is named.
std::string tokenizer_class(const ConfigFile& settings) {
    auto name = settings.get<std::string>("tokenizer_class", "");
    constexpr std::string_view kFast = "Fast";
    if (name.ends_with(kFast)) name.resize(name.size() - kFast.size());
    return name;
}

// vocab.json and merges.txt do not say how a text is split into words; GPT-2's rule is taken.
// Qwen's slow tokenizer writes the same files, and splits and normalizes otherwise.
void check_splits_as_gpt2(const ConfigFile& settings, const Tokenizer& tokenizer) {
    const std::string name = tokenizer_class(settings);
    require<IoError>(tokenizer.kind() != "bpe" || name != "Qwen2Tokenizer",
                     "{}: \"tokenizer_class\" is {}, which splits words otherwise than GPT-2's; "
                     "vocab.json and merges.txt do not say how, so tokenizer.json is needed "
                     "(transformers writes it: AutoTokenizer.from_pretrained and save_pretrained)",
                     settings.path(), name);
}

// transformers adds these tokens to those of tokenizer.json, but not with the ids declared: one
// that is not there gets the next free id.
void check_added_tokens(const ConfigFile& settings, const Tokenizer& tokenizer) {
    constexpr const char* kSetting = "added_tokens_decoder";
    if (tokenizer.kind() != "json" || !settings.has(kSetting)) return;
    const auto check = [&](const std::string& name, const std::string& text) {
        std::int64_t id = -1;
        std::from_chars(name.data(), name.data() + name.size(), id);
        if (text.empty() || tokenizer.encode(text, kSetting) == std::vector{id}) return;
        const bool is_known = id >= 0 && id < tokenizer.vocab_size();
        const std::string there = is_known ? tokenizer.decode({&id, 1}) : std::string();
        fail<IoError>(
            "{}: \"{}\" says that token {} is {}; in {} it is {} (transformers writes both "
            "alike: AutoTokenizer.from_pretrained and save_pretrained)",
            settings.path(), kSetting, utf8::printable(name), utf8::quoted(text), kTokenizerName,
            !is_known       ? "missing"
            : there == text ? "not an added token"
                            : utf8::quoted(there));
    };
    try {
        for (const auto& [name, token] : settings.node(kSetting).members()) {
            check(name, token.get<std::string>("content"));
        }
    } catch (const ValueError& error) {
        fail<IoError>("{}: \"{}\": {}", settings.path(), kSetting, error.what());
    }
}

// Classes of transformers that replace the post-processor of tokenizer.json by add_bos_token.
bool decides_beginning(const ConfigFile& settings) {
    const std::string name = tokenizer_class(settings);
    constexpr std::array<std::string_view, 5> kClasses{"LlamaTokenizer", "CodeLlamaTokenizer",
                                                       "GemmaTokenizer", "CohereTokenizer",
                                                       "GPTNeoXTokenizer"};
    return std::find(kClasses.begin(), kClasses.end(), name) != kClasses.end();
}

// With the beginning that add_bos_token asks for, written into its tokenizer.json: so it is saved,
// and part of the hash.
std::unique_ptr<Tokenizer> with_beginning(std::unique_ptr<Tokenizer> tokenizer,
                                          const ConfigFile& settings, const SavedFiles& files) {
    constexpr const char* kSetting = "add_bos_token";
    if (!settings.has(kSetting)) return tokenizer;
    const bool is_added = settings.get<bool>(kSetting);
    const auto* const own = dynamic_cast<const JsonTokenizer*>(tokenizer.get());
    const auto* const pairs = dynamic_cast<const BytePairTokenizer*>(tokenizer.get());
    const bool is_heeded = pairs != nullptr ? is_added : decides_beginning(settings);
    if (!is_heeded || (own == nullptr && pairs == nullptr)) return tokenizer;
    std::optional<TemplateToken> first;
    if (is_added) {
        const auto text = special_token(files, "bos_token");
        if (!text) return tokenizer;
        const std::vector<std::int64_t> ids = tokenizer->encode(*text, kSetting);
        if (ids.size() != 1) return tokenizer;  // the model has no such token
        first = {*text, ids.front()};
    }
    if (tokenizer->begin_of_text().value_or(-1) == (first ? first->id : -1)) return tokenizer;
    const std::string json = own != nullptr ? own->json() : tokenizer_json(*pairs);
    try {
        return std::make_unique<JsonTokenizer>(
            JsonTokenizer::from_json(with_first_token(json, first)));
    } catch (const ValueError& error) {
        fail<IoError>("{}: \"{}\": {}", settings.path(), kSetting, error.what());
    }
}

// As its files are, without tokenizer_config.json.
std::unique_ptr<Tokenizer> read_files(const ConfigFile& file, const SavedFiles& files) {
    const auto kind = file.get<std::string>(kTokenizerSetting, "");
    if (kind == "none") return nullptr;
    const fs::path characters = files.path(kCharTokenizerName), json = files.path(kTokenizerName);
    if (kind == "char") return read_char_tokenizer(characters);
    if (kind == "json" || (kind.empty() && is_there(json))) return read_json_tokenizer(json);
    if (auto tokenizer = read_byte_pair_tokenizer(files)) return tokenizer;
    if (is_there(characters)) return read_char_tokenizer(characters);
    return is_there(json) ? read_json_tokenizer(json) : nullptr;
}

}  // namespace

std::unique_ptr<Tokenizer> read_foreign_tokenizer(const ConfigFile& file, const SavedFiles& files) {
    std::unique_ptr<Tokenizer> tokenizer = read_files(file, files);
    const fs::path path = files.path(kTokenizerConfigName);
    if (tokenizer == nullptr || tokenizer->kind() == "char" || !is_there(path)) return tokenizer;
    const ConfigFile settings(path);
    check_no_prefix_space(settings, *tokenizer);
    check_splits_as_gpt2(settings, *tokenizer);
    check_added_tokens(settings, *tokenizer);
    return with_beginning(std::move(tokenizer), settings, files);
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
    if (tokenizer.begin_of_text()) bos = tokenizer.begin_of_text();
    JsonWriter json(2);
    const auto token = [&](const char* name, std::optional<std::int64_t> id) {
        const bool has_text = id && *id >= 0 && *id < tokenizer.vocab_size();
        if (has_text) json.member(name, tokenizer.decode({&*id, 1}));
    };
    const auto text = [&json](const char* name, const std::string& value) {
        if (!value.empty()) json.member(name, value);
    };
    json.object([&] {
        json.member("add_prefix_space", false);
        if (!conventions.additional_tokens.empty()) {
            json.member("additional_special_tokens", conventions.additional_tokens);
        }
        token("bos_token", bos);
        if (!conventions.chat_template.empty()) {
            json.member("chat_template", conventions.chat_template);
        }
        json.member("clean_up_tokenization_spaces", false);
        token("eos_token", eos);
        json.member("model_max_length", context);
        text("pad_token", conventions.pad_token);
        json.member("tokenizer_class",
                    tokenizer.kind() == "bpe" ? "GPT2Tokenizer" : "PreTrainedTokenizerFast");
        text("unk_token", conventions.unk_token);
    });
    files.push_back(text_file(kTokenizerConfigName, json.text() + "\n"));
    const std::string generation = generation_config(conventions);
    if (!generation.empty()) files.push_back(text_file(kGenerationConfigName, generation));
    return files;
}

}  // namespace tapestry
