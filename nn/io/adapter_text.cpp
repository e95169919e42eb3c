#include <tapestry/nn/io/adapter_text.h>

#include <tapestry/core/directory.h>
#include <tapestry/core/text/json_tree.h>
#include <tapestry/core/text/utf8.h>
#include <tapestry/nn/io/config_file.h>
#include <tapestry/nn/io/foreign_tokenizer.h>
#include <tapestry/nn/io/manifest.h>
#include <tapestry/nn/io/model_files.h>

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

namespace tapestry {
namespace {

namespace fs = std::filesystem;

constexpr const char* kBeginField = "bos_token_id";
constexpr const char* kEndField = "eos_token_id";

std::string token(const Tokenizer& tokenizer, std::int64_t id) {
    return id >= 0 && id < tokenizer.vocab_size() ? tokenizer.decode({&id, 1}) : std::string();
}

std::string difference_at(std::int64_t id, const std::string& own, const std::string& base) {
    const auto shown = [](const std::string& text) {
        return text.empty() ? "missing" : utf8::quoted(text);
    };
    return fmt::format("token {} is {} there and {} in the model's", id, shown(own), shown(base));
}

// No ids for a text that cannot be encoded.
std::vector<std::int64_t> ids_of(const Tokenizer& tokenizer, const std::string& text) {
    try {
        return tokenizer.encode(text);
    } catch (const ValueError&) {
        return {};
    }
}

// How two tokenizers differ, by their vocabularies and by what they make of each token's text;
// empty: they do not. The texts of files differ even for one tokenizer, with the library's version.
std::string difference(const Tokenizer& own, const Tokenizer& base) {
    if (own.hash() == base.hash()) return {};
    const std::int64_t end = std::max(own.vocab_size(), base.vocab_size());
    for (std::int64_t id = 0; id < end; ++id) {
        const std::string here = token(own, id), there = token(base, id);
        if (here == there) continue;
        const std::int64_t size = own.vocab_size(), size_of_base = base.vocab_size();
        return size == size_of_base ? difference_at(id, here, there)
                                    : fmt::format("it has {} tokens and the model's {}; {}", size,
                                                  size_of_base, difference_at(id, here, there));
    }
    for (std::int64_t id = 0; id < end; ++id) {
        const std::string text = token(base, id);
        if (text.empty() || ids_of(own, text) == ids_of(base, text)) continue;
        return fmt::format("both have the same tokens, but {} becomes other ids",
                           utf8::quoted(text));
    }
    return {};
}

// By id: of tokenizer_config.json, {"added_tokens_decoder": {"384": {"content": "<tool>"}}}, and of
// added_tokens.json, {"<tool>": 384}.
std::map<std::int64_t, std::string> added_tokens(const SavedFiles& files) {
    constexpr const char* kAdded = "added_tokens_decoder";
    std::map<std::int64_t, std::string> tokens;
    if (const fs::path path = files.path(kTokenizerConfigName); is_there(path)) {
        const ConfigFile file(path);
        if (file.has(kAdded)) {
            for (const auto& [name, value] : file.node(kAdded).members()) {
                std::int64_t id = -1;
                std::from_chars(name.data(), name.data() + name.size(), id);
                tokens[id] = value.get<std::string>("content");
            }
        }
    }
    if (const fs::path path = files.path(kAddedTokensName); is_there(path)) {
        const JsonTree tree(read_file(path, 1 << 24));
        for (const auto& [text, id] : tree.root().members()) tokens[id.get<std::int64_t>()] = text;
    }
    return tokens;
}

std::string difference(const SavedFiles& files, const Tokenizer& base) {
    const std::string place = files.directory().string();
    if (const auto own = read_foreign_tokenizer(ConfigFile("{}", place), files)) {
        return difference(*own, base);
    }
    try {
        for (const auto& [id, text] : added_tokens(files)) {
            if (token(base, id) != text) return difference_at(id, text, token(base, id));
        }
    } catch (const JsonError& error) {
        fail<IoError>("{}: added tokens: {}", place, error.what());
    }
    return {};
}

// Of generation_config.json, as the model's; otherwise those of the model behind the eos_token.
TextConventions with_own_ends(const SavedFiles& files, const Tokenizer& tokenizer,
                              TextConventions all) {
    if (const fs::path path = files.path(kGenerationConfigName); is_there(path)) {
        const ConfigFile file(path);
        if (!all.bos && file.has(kBeginField)) all.bos = file.get<std::int64_t>(kBeginField);
        if (!file.has(kEndField)) return all;
        all.eos = token_ids_in(file, kEndField);
        for (const std::int64_t id : all.eos) {
            require<IoError>(id >= 0 && id < tokenizer.vocab_size(),
                             "{}: \"{}\" has {}, and the vocabulary {} tokens", file.path(),
                             kEndField, id, tokenizer.vocab_size());
        }
        return all;
    }
    const std::string end = special_token(files, "eos_token").value_or("");
    const std::vector<std::int64_t> ids = ids_of(tokenizer, end);
    if (ids.size() != 1) return all;
    const std::optional<std::int64_t> usual = tokenizer.end_of_text();
    if (!all.bos && all.eos.empty() && usual) all.bos = all.eos.emplace_back(*usual);
    std::erase(all.eos, ids.front());
    all.eos.insert(all.eos.begin(), ids.front());
    return all;
}

}  // namespace

std::string take_adapter_template(const fs::path& directory, LoadedModel& loaded) {
    return read_saved(directory, [&](const SavedFiles& files) -> std::string {
        std::error_code ignored;
        require<IoError>(fs::exists(files.path(kAdapterConfigName), ignored),
                         "{}: not an adapter: {} is missing", directory.string(),
                         kAdapterConfigName);
        const std::string differs = loaded.tokenizer ? difference(files, *loaded.tokenizer) : "";
        require<IoError>(differs.empty(),
                         "{}: the tokenizer next to the adapter is not the model's: {}; let PEFT "
                         "merge such an adapter (merge_and_unload)",
                         directory.string(), differs);
        TextConventions own = loaded.conventions;
        if (loaded.tokenizer && loaded.tokenizer->kind() != "char") {
            own = with_own_ends(files, *loaded.tokenizer, std::move(own));
        }
        const std::string program = chat_template_in(files);
        if (!program.empty()) own.chat_template = program;
        const bool is_new = own.chat_template != loaded.conventions.chat_template;
        const bool ends = own.eos != loaded.conventions.eos;
        loaded.conventions = own;
        if (ends) loaded.tokenizer->declare_ends(own.eos);
        if (!is_new && !ends) return {};
        const std::string end =
            ends ? fmt::format("end of texts {}",
                               utf8::quoted(token(*loaded.tokenizer, own.eos.front())))
                 : std::string();
        return fmt::format("{}{}{}: {} next to the adapter, {}", is_new ? "chat template" : "",
                           is_new && ends ? ", " : "", end, is_new && ends ? "those" : "the one",
                           utf8::printable(directory.string()));
    });
}

void write_adapter_text(Commit& commit, const std::string& folder,
                        const TextConventions& conventions) {
    const auto write = [&](const char* name, const std::string& text) {
        commit.write(fmt::format("{}/{}", folder, name), text_file(name, text).write);
    };
    if (!conventions.chat_template.empty()) {
        write(kChatTemplateName, conventions.chat_template);
    }
    const std::string generation = generation_config(conventions);
    if (!generation.empty()) write(kGenerationConfigName, generation);
}

}  // namespace tapestry
