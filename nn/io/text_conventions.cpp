#include <tapestry/nn/io/text_conventions.h>

#include <tapestry/core/directory.h>
#include <tapestry/core/file.h>
#include <tapestry/core/text/json_tree.h>
#include <tapestry/core/text/json_writer.h>
#include <tapestry/nn/io/config_file.h>
#include <tapestry/nn/io/manifest.h>
#include <tapestry/nn/io/model_files.h>

#include <algorithm>

namespace tapestry {
namespace {

namespace fs = std::filesystem;

constexpr const char* kChatTemplate = "chat_template";
constexpr const char* kEndIds = "eos_token_id";
constexpr std::uint64_t kMostOfTemplate = 1 << 20;

std::vector<std::int64_t> ids_in(const ConfigFile& file, const char* name) {
    if (!file.has(name)) return {};
    return file.node(name).is(JsonKind::array) ? file.get<std::vector<std::int64_t>>(name)
                                               : std::vector{file.get<std::int64_t>(name)};
}

// Of a directory of Hugging Face's. If generation_config.json has the id that config.json names
// first, it stays the first: an export names it as the tokenizer's eos_token.
std::vector<std::int64_t> end_ids(const ConfigFile& file, const SavedFiles& files) {
    std::vector<std::int64_t> own = ids_in(file, kEndIds);
    const fs::path generation = files.path(kGenerationConfigName);
    if (!is_there(generation)) return own;
    std::vector<std::int64_t> ids = ids_in(ConfigFile(generation), kEndIds);
    if (ids.empty()) return own;
    if (own.empty()) return ids;
    const auto first = std::find(ids.begin(), ids.end(), own.front());
    if (first != ids.end()) std::rotate(ids.begin(), first, first + 1);
    return ids;
}

// The id of tokenizer_config.json's eos_token, a text or an object with its content.
std::optional<std::int64_t> id_of_end(const SavedFiles& files, const Tokenizer& tokenizer) {
    constexpr const char* kEnd = "eos_token";
    const fs::path path = files.path(kTokenizerConfigName);
    if (!is_there(path)) return {};
    const ConfigFile settings(path);
    if (!settings.has(kEnd)) return {};
    const JsonNode node = settings.node(kEnd);
    const std::optional<JsonNode> text = node.is(JsonKind::object) ? node.find("content") : node;
    require<IoError>(text && text->is(JsonKind::string),
                     "{}: \"{}\" is neither a text nor an object with its \"content\"",
                     settings.path(), kEnd);
    const std::vector<std::int64_t> ids = tokenizer.encode(text->get<std::string>(), kEnd);
    return ids.size() == 1 ? std::optional(ids.front()) : std::nullopt;
}

// A text, or a list of templates by name, of which "default" counts.
std::string template_in(const ConfigFile& file) {
    if (!file.has(kChatTemplate)) return {};
    const JsonNode node = file.node(kChatTemplate);
    if (!node.is(JsonKind::array)) return file.get<std::string>(kChatTemplate);
    for (const JsonNode& one : node.elements()) {
        try {
            if (one.get<std::string>("name") == "default") return one.get<std::string>("template");
        } catch (const JsonError& error) {
            fail<IoError>("{}: \"{}\": {}", file.path(), kChatTemplate, error.what());
        }
    }
    return {};
}

}  // namespace

// chat_template.jinja counts.
std::string chat_template_in(const SavedFiles& files) {
    const fs::path own = files.path("chat_template.jinja");
    if (is_there(own)) return read_file(own, kMostOfTemplate);
    const fs::path settings = files.path(kTokenizerConfigName);
    return is_there(settings) ? template_in(ConfigFile(settings)) : std::string();
}

ChatTemplate chosen_template(const TextConventions& conventions, const std::string& style,
                             const std::string& system) {
    ChatTemplate chat;
    if (!style.empty()) {
        chat.style = chat_style_of(style);
    } else if (!conventions.chat_template.empty()) {
        chat = recognised_template(conventions.chat_template);
    }
    if (!system.empty()) chat.system = system;
    return chat;
}

TextConventions read_text_conventions(const ConfigFile& file, const SavedFiles& files,
                                      Tokenizer* tokenizer) {
    const bool is_ours = file.has("model");
    const bool has_tokens = tokenizer != nullptr && tokenizer->kind() != "char";
    TextConventions all;
    const std::vector<std::int64_t> bos = ids_in(file, "bos_token_id");
    if (bos.size() == 1) all.bos = bos.front();
    all.eos = is_ours ? ids_in(file, kEndIds) : end_ids(file, files);
    if (all.eos.empty() && !is_ours && has_tokens) {
        if (const auto id = id_of_end(files, *tokenizer)) all.eos = {*id};
        if (!all.bos && !all.eos.empty()) all.bos = all.eos.front();  // as for no ids at all
    }
    if (has_tokens) tokenizer->declare_ends(all.eos);
    all.chat_template = is_ours ? template_in(file) : chat_template_in(files);
    return all;
}

TextConventions load_text_conventions(const fs::path& directory) {
    return read_saved(directory, [](const SavedFiles& files) {
        return read_text_conventions(ConfigFile(files.path(kConfigName)), files, nullptr);
    });
}

void write_text_conventions(ConfigWriter& file, const TextConventions& conventions) {
    if (conventions.bos) file.set("bos_token_id", *conventions.bos);
    if (!conventions.eos.empty()) file.set(kEndIds, conventions.eos);
    if (!conventions.chat_template.empty()) file.set(kChatTemplate, conventions.chat_template);
}

void write_text_ids(JsonWriter& json, const TextConventions& conventions,
                    std::optional<std::int64_t> end) {
    const bool known = conventions.bos || !conventions.eos.empty();
    json.member("bos_token_id", known ? conventions.bos : end);
    if (conventions.eos.size() == 1) {
        json.member(kEndIds, conventions.eos.front());
    } else if (known && !conventions.eos.empty()) {
        json.member(kEndIds, conventions.eos);
    } else if (!known && end) {
        json.member(kEndIds, *end);
    } else {
        json.member(kEndIds, nullptr);
    }
}

}  // namespace tapestry
