#include <tapestry/nn/io/text_conventions.h>

#include <tapestry/core/directory.h>
#include <tapestry/core/file.h>
#include <tapestry/core/text/json_tree.h>
#include <tapestry/core/text/json_writer.h>
#include <tapestry/nn/io/config_file.h>
#include <tapestry/nn/io/manifest.h>
#include <tapestry/nn/io/model_files.h>

#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <span>
#include <string_view>

namespace tapestry {
namespace {

namespace fs = std::filesystem;

constexpr const char* kChatTemplate = "chat_template";
constexpr const char* kBeginId = "bos_token_id";
constexpr const char* kEndIds = "eos_token_id";
constexpr const char* kPadId = "pad_token_id";
constexpr const char* kPad = "pad_token";
constexpr const char* kUnknown = "unk_token";
constexpr const char* kAdditional = "additional_special_tokens";
constexpr const char* kGeneration = "generation_config";
constexpr std::uint64_t kMostOfTemplate = 1 << 20;

// Of a directory of Hugging Face's. If generation_config.json has the id that config.json names
// first, it stays the first: an export names it as the tokenizer's eos_token.
std::vector<std::int64_t> end_ids(const ConfigFile& file, const SavedFiles& files) {
    std::vector<std::int64_t> own = token_ids_in(file, kEndIds);
    const fs::path generation = files.path(kGenerationConfigName);
    if (!is_there(generation)) return own;
    std::vector<std::int64_t> ids = token_ids_in(ConfigFile(generation), kEndIds);
    if (ids.empty()) return own;
    if (own.empty()) return ids;
    const auto first = std::find(ids.begin(), ids.end(), own.front());
    if (first != ids.end()) std::rotate(ids.begin(), first, first + 1);
    return ids;
}

std::optional<std::int64_t> pad_id(const ConfigFile& file, const SavedFiles& files) {
    const fs::path generation = files.path(kGenerationConfigName);
    std::vector<std::int64_t> ids = token_ids_in(file, kPadId);
    if (ids.empty() && is_there(generation)) ids = token_ids_in(ConfigFile(generation), kPadId);
    return ids.size() == 1 ? std::optional(ids.front()) : std::nullopt;
}

std::string generation_in(const SavedFiles& files) {
    const fs::path path = files.path(kGenerationConfigName);
    if (!is_there(path)) return {};
    std::string all;
    const ConfigFile file(path);
    for (const auto& [name, value] : file.members()) {
        const bool is_other = name.ends_with("_token_id") || name == "transformers_version" ||
                              name.starts_with('_') || value.is(JsonKind::null);
        if (is_other) continue;
        all += fmt::format("{}{}: {}", all.empty() ? "" : ", ", json_text(name), value.text());
    }
    return all.empty() ? all : fmt::format("{{{}}}", all);
}

// The file that names the tokens of a role: tokenizer_config.json, or special_tokens_map.json.
std::unique_ptr<ConfigFile> file_of_role(const SavedFiles& files, const char* role) {
    for (const char* const name : {kTokenizerConfigName, "special_tokens_map.json"}) {
        const fs::path path = files.path(name);
        if (!is_there(path)) continue;
        auto file = std::make_unique<ConfigFile>(path);
        if (file->has(role)) return file;
    }
    return nullptr;
}

std::string token_text(const JsonNode& node, const ConfigFile& file, const char* role) {
    const std::optional<JsonNode> text = node.is(JsonKind::object) ? node.find("content") : node;
    require<IoError>(text && text->is(JsonKind::string),
                     "{}: \"{}\" is neither a text nor an object with its \"content\"", file.path(),
                     role);
    return text->get<std::string>();
}

// Transformers 5 calls them extra_special_tokens, which was an object before.
std::vector<std::string> additional_tokens(const SavedFiles& files) {
    for (const char* const role : {kAdditional, "extra_special_tokens"}) {
        const auto file = file_of_role(files, role);
        if (!file || !file->node(role).is(JsonKind::array)) continue;
        std::vector<std::string> all;
        for (const JsonNode& one : file->node(role).elements()) {
            all.push_back(token_text(one, *file, role));
        }
        return all;
    }
    return {};
}

// Transformers takes a template of the name "tool_use" for conversations with tools. The signs +
// keep blanks that belong to the templates.
std::string joined_templates(const std::string& usual, const std::string& with_tools) {
    if (usual.empty() || with_tools.empty()) return usual;
    return fmt::format("{{%+ if tools +%}}{}{{%+ else +%}}{}{{%+ endif +%}}", with_tools, usual);
}

// A text, or a list of templates by name, of which "default" counts and "tool_use".
std::string template_in(const ConfigFile& file) {
    if (!file.has(kChatTemplate)) return {};
    const JsonNode node = file.node(kChatTemplate);
    if (!node.is(JsonKind::array)) return file.get<std::string>(kChatTemplate);
    std::string usual, with_tools;
    for (const JsonNode& one : node.elements()) {
        try {
            const auto name = one.get<std::string>("name");
            if (name == "default") usual = one.get<std::string>("template");
            if (name == "tool_use") with_tools = one.get<std::string>("template");
        } catch (const JsonError& error) {
            fail<IoError>("{}: \"{}\": {}", file.path(), kChatTemplate, error.what());
        }
    }
    return joined_templates(usual, with_tools);
}

// A template gets the tokens that the tokenizer names; config.json's ids are for generate(), which
// may begin or stop at others.
void take_named(const SavedFiles& files, const Tokenizer& tokenizer, TextConventions& to) {
    const auto id_of = [&](const char* role) -> std::optional<std::int64_t> {
        const std::vector<std::int64_t> ids =
            tokenizer.encode(special_token(files, role).value_or(""), role);
        return ids.size() == 1 ? std::optional(ids.front()) : std::nullopt;
    };
    if (const auto begin = id_of("bos_token")) to.bos = begin;
    const auto end = id_of("eos_token");
    const auto first = end ? std::find(to.eos.begin(), to.eos.end(), *end) : to.eos.end();
    if (first != to.eos.end()) std::rotate(to.eos.begin(), first, first + 1);
}

}  // namespace

std::vector<std::int64_t> token_ids_in(const ConfigFile& file, const char* name) {
    if (!file.has(name)) return {};
    return file.node(name).is(JsonKind::array) ? file.get<std::vector<std::int64_t>>(name)
                                               : std::vector{file.get<std::int64_t>(name)};
}

// chat_template.jinja counts.
std::string chat_template_in(const SavedFiles& files) {
    const fs::path own = files.path(kChatTemplateName);
    if (is_there(own)) {
        const fs::path tools = files.path("additional_chat_templates/tool_use.jinja");
        return joined_templates(read_file(own, kMostOfTemplate),
                                is_there(tools) ? read_file(tools, kMostOfTemplate) : "");
    }
    const fs::path settings = files.path(kTokenizerConfigName);
    return is_there(settings) ? template_in(ConfigFile(settings)) : std::string();
}

ChatTemplate chosen_template(const TextConventions& conventions, const Tokenizer& tokenizer,
                             const std::string& given, const std::optional<std::string>& system) {
    const auto text_of = [&tokenizer](std::optional<std::int64_t> id) -> std::string {
        const bool is_there = id && *id >= 0 && *id < tokenizer.vocab_size();
        return is_there ? tokenizer.decode(std::span(&*id, 1)) : std::string();
    };
    const auto of_style = [&](std::string_view name) {
        return chat_program(chat_style_of(name), text_of(tokenizer.begin_of_text()),
                            text_of(tokenizer.end_of_text()));
    };
    const std::optional<std::int64_t> end =
        conventions.eos.empty() ? tokenizer.end_of_text() : conventions.eos.front();
    ChatTemplate chat;
    if (given.find('{') != given.npos) {
        chat.program = given;
    } else if (given.ends_with(".jinja")) {
        chat.program = read_file(given, kMostOfTemplate);
    } else if (!given.empty()) {
        chat.program = of_style(given);
    } else {
        const std::string& own = conventions.chat_template;
        chat.program = own.empty() ? of_style("plain") : own;
    }
    if (system) chat.program = with_system(chat.program, *system);
    const auto has = [&chat](const char* name) {
        return chat.program.find(name) != std::string::npos;
    };
    if (has("bos_token")) chat.bos_token = text_of(conventions.bos);
    if (has("eos_token")) chat.eos_token = text_of(end);
    return chat;
}

std::optional<std::string> special_token(const SavedFiles& files, const char* role) {
    const auto file = file_of_role(files, role);
    return file ? std::optional(token_text(file->node(role), *file, role)) : std::nullopt;
}

void add_declared(const Tokenizer& tokenizer, TextConventions& conventions) {
    if (!conventions.bos) conventions.bos = tokenizer.begin_of_text();
    if (conventions.eos.empty()) conventions.eos = tokenizer.declared_ends();
}

TextConventions read_text_conventions(const ConfigFile& file, const SavedFiles& files,
                                      Tokenizer* tokenizer) {
    const bool is_ours = file.has("model");
    const bool has_tokens = tokenizer != nullptr && tokenizer->kind() != "char";
    TextConventions all;
    const std::vector<std::int64_t> bos = token_ids_in(file, kBeginId);
    if (bos.size() == 1) all.bos = bos.front();
    all.eos = is_ours ? token_ids_in(file, kEndIds) : end_ids(file, files);
    if (!is_ours && has_tokens) take_named(files, *tokenizer, all);
    if (!all.bos && has_tokens) all.bos = tokenizer->begin_of_text();
    if (all.eos.empty() && !is_ours && has_tokens) {
        const std::string end = special_token(files, "eos_token").value_or("");
        const std::vector<std::int64_t> ids = tokenizer->encode(end, "eos_token");
        if (ids.size() == 1) all.eos = ids;
        if (!all.bos && !all.eos.empty()) all.bos = all.eos.front();  // as for no ids at all
    }
    if (has_tokens) tokenizer->declare_ends(all.eos);
    all.chat_template = is_ours ? template_in(file) : chat_template_in(files);
    all.pad = pad_id(file, files);
    if (!is_ours) all.generation = generation_in(files);
    if (is_ours && file.has(kGeneration)) all.generation = file.node(kGeneration).text();
    if (is_ours) {
        all.pad_token = file.get<std::string>(kPad, "");
        all.unk_token = file.get<std::string>(kUnknown, "");
        all.additional_tokens = file.get<std::vector<std::string>>(kAdditional, {});
    } else {
        all.pad_token = special_token(files, kPad).value_or("");
        all.unk_token = special_token(files, kUnknown).value_or("");
        all.additional_tokens = additional_tokens(files);
    }
    return all;
}

TextConventions load_text_conventions(const fs::path& directory) {
    return read_saved(directory, [](const SavedFiles& files) {
        return read_text_conventions(ConfigFile(files.path(kConfigName)), files, nullptr);
    });
}

void write_text_conventions(ConfigWriter& file, const TextConventions& conventions) {
    if (conventions.bos) file.set(kBeginId, *conventions.bos);
    if (!conventions.eos.empty()) file.set(kEndIds, conventions.eos);
    if (!conventions.chat_template.empty()) file.set(kChatTemplate, conventions.chat_template);
    if (conventions.pad) file.set(kPadId, *conventions.pad);
    if (!conventions.pad_token.empty()) file.set(kPad, conventions.pad_token);
    if (!conventions.unk_token.empty()) file.set(kUnknown, conventions.unk_token);
    if (!conventions.additional_tokens.empty()) {
        file.set(kAdditional, conventions.additional_tokens);
    }
    if (!conventions.generation.empty()) file.set_json(kGeneration, conventions.generation);
}

std::string generation_config(const TextConventions& conventions) {
    if (conventions.eos.empty() && conventions.generation.empty()) return {};
    JsonWriter json(2);
    json.object([&] {
        if (conventions.bos) json.member(kBeginId, *conventions.bos);
        if (!conventions.eos.empty()) json.member(kEndIds, conventions.eos);
        if (conventions.pad) json.member(kPadId, *conventions.pad);
        if (!conventions.generation.empty()) write_members(json, conventions.generation);
    });
    return json.text() + "\n";
}

void write_text_ids(JsonWriter& json, const TextConventions& conventions,
                    std::optional<std::int64_t> end) {
    const bool known = conventions.bos || !conventions.eos.empty();
    json.member(kBeginId, known ? conventions.bos : end);
    if (conventions.eos.size() == 1) {
        json.member(kEndIds, conventions.eos.front());
    } else if (known && !conventions.eos.empty()) {
        json.member(kEndIds, conventions.eos);
    } else if (!known && end) {
        json.member(kEndIds, *end);
    } else {
        json.member(kEndIds, nullptr);
    }
    if (conventions.pad) json.member(kPadId, *conventions.pad);
}

}  // namespace tapestry
