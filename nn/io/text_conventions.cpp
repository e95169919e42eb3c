#include <tapestry/nn/io/text_conventions.h>

#include <tapestry/core/directory.h>
#include <tapestry/core/file.h>
#include <tapestry/core/text/json_tree.h>
#include <tapestry/core/text/json_writer.h>
#include <tapestry/nn/io/config_file.h>
#include <tapestry/nn/io/manifest.h>
#include <tapestry/nn/io/model_files.h>

namespace tapestry {
namespace {

namespace fs = std::filesystem;

constexpr const char* kChatTemplate = "chat_template";
constexpr std::uint64_t kMostOfTemplate = 1 << 20;

std::vector<std::int64_t> ids_in(const ConfigFile& file, const char* name) {
    if (!file.has(name)) return {};
    return file.node(name).is(JsonKind::array) ? file.get<std::vector<std::int64_t>>(name)
                                               : std::vector{file.get<std::int64_t>(name)};
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

// Of a directory of Hugging Face's; chat_template.jinja counts.
std::string read_template(const SavedFiles& files) {
    const fs::path own = files.path("chat_template.jinja");
    if (is_there(own)) return read_file(own, kMostOfTemplate);
    const fs::path settings = files.path(kTokenizerConfigName);
    return is_there(settings) ? template_in(ConfigFile(settings)) : std::string();
}

}  // namespace

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

TextConventions read_text_conventions(const ConfigFile& file, const SavedFiles& files) {
    TextConventions all;
    const std::vector<std::int64_t> bos = ids_in(file, "bos_token_id");
    if (bos.size() == 1) all.bos = bos.front();
    all.eos = ids_in(file, "eos_token_id");
    all.chat_template = file.has("model") ? template_in(file) : read_template(files);
    return all;
}

TextConventions load_text_conventions(const fs::path& directory) {
    return read_saved(directory, [](const SavedFiles& files) {
        return read_text_conventions(ConfigFile(files.path(kConfigName)), files);
    });
}

void write_text_conventions(ConfigWriter& file, const TextConventions& conventions) {
    if (conventions.bos) file.set("bos_token_id", *conventions.bos);
    if (!conventions.eos.empty()) file.set("eos_token_id", conventions.eos);
    if (!conventions.chat_template.empty()) file.set(kChatTemplate, conventions.chat_template);
}

void write_text_ids(JsonWriter& json, const TextConventions& conventions,
                    std::optional<std::int64_t> end) {
    const bool known = conventions.bos || !conventions.eos.empty();
    json.member("bos_token_id", known ? conventions.bos : end);
    if (conventions.eos.size() == 1) {
        json.member("eos_token_id", conventions.eos.front());
    } else if (known && !conventions.eos.empty()) {
        json.member("eos_token_id", conventions.eos);
    } else if (!known && end) {
        json.member("eos_token_id", *end);
    } else {
        json.member("eos_token_id", nullptr);
    }
}

}  // namespace tapestry
