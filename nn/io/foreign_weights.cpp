#include <tapestry/nn/io/foreign_weights.h>

#include <tapestry/core/text/message.h>
#include <tapestry/core/text/utf8.h>
#include <tapestry/nn/data/file_kind.h>
#include <tapestry/nn/io/shards.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

namespace tapestry {
namespace {

namespace fs = std::filesystem;

// Of ASCII letters, in any locale.
std::string lower(std::string_view text) {
    std::string result(text);
    for (char& c : result) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
    return result;
}

// Whether at least two lines have the same number of commas, semicolons or tabs.
bool is_table(std::string_view text) {
    const std::size_t first = text.find('\n');
    if (first == text.npos) return false;
    const std::size_t second = std::min(text.find('\n', first + 1), text.size());
    const std::string_view a = text.substr(0, first);
    const std::string_view b = text.substr(first + 1, second - first - 1);
    return std::any_of(std::begin(",;\t"), std::end(",;\t") - 1, [&](char separator) {
        const auto count = std::count(a.begin(), a.end(), separator);
        return count > 0 && count == std::count(b.begin(), b.end(), separator);
    });
}

// What the text is; empty if it is none.
std::string_view kind_of_text(std::string_view beginning) {
    const auto is_control = [](char c) {
        return (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\r' && c != '\t') ||
               c == 0x7F;
    };
    if (beginning.size() < 8 || std::any_of(beginning.begin(), beginning.end(), is_control)) {
        return {};
    }
    const auto flaw = utf8::find_flaw(beginning);
    if (flaw && flaw->byte + 4 < beginning.size()) return {};  // else the sample's last character
    const std::string start = lower(beginning.substr(0, 200));
    const std::size_t at = std::min(start.find_first_not_of(" \t\r\n"), start.size());
    if (start.substr(at).starts_with("<!doctype html") || start.substr(at).starts_with("<html")) {
        return "a web page; download the file itself (huggingface-cli download REPOSITORY)";
    }
    if (start.substr(at).starts_with('{')) return {};  // a header without its length
    return is_table(beginning) ? "a table as text (CSV), which `--text` reads"
                               : "text, which `--text` reads";
}

}  // namespace

namespace {

// The beginning of `name` that a wrapper has added; empty for none.
std::string_view wrapper_of(std::string_view name) {
    for (const std::string_view one : {"module.", "_orig_mod.", "model."}) {
        if (name.starts_with(one)) return one;
    }
    return {};
}

}  // namespace

std::string without_wrappers(const std::string& name) { return without_wrappers(name, {}); }

std::string without_wrappers(const std::string& name, const std::set<std::string>& wanted) {
    std::string rest = name;
    while (!wanted.contains(rest)) {
        const std::size_t length = wrapper_of(rest).size();
        if (length == 0) return wanted.empty() ? rest : name;
        rest.erase(0, length);
    }
    return rest;
}

std::function<std::string(const std::string&)> names_without_wrappers(
    const std::vector<StoredParameter>& parameters, const std::string& copied) {
    std::set<std::string> wanted;
    if (!copied.empty()) wanted.insert(copied);
    for (const StoredParameter& one : parameters) wanted.insert(one.name);
    return [wanted = std::move(wanted)](const std::string& name) {
        return without_wrappers(name, wanted);
    };
}

void strip_wrappers(NamedTensors& stored, const Module& module) {
    std::set<std::string> wanted, there;
    for (const auto& [name, tensor] : saved_tensors(module)) wanted.insert(name);
    for (const auto& [name, tensor] : stored) there.insert(name);
    for (auto& [name, tensor] : stored) {
        const std::string bare = without_wrappers(name, wanted);
        if (!there.contains(bare)) name = bare;
    }
}

void check_is_model(const fs::path& directory) {
    std::error_code ignored;
    if (fs::is_regular_file(directory, ignored)) {
        const std::string beginning = beginning_of(directory);
        std::string_view kind = kind_of_file(beginning, false);
        if (kind.empty()) kind = kind_of_text(beginning);
        fail<IoError>("{}: not a model, but {}; a model is a directory with {} and {}",
                      shown(directory), kind.empty() ? "a file" : kind, kConfigName, kWeightsName);
    }
    require<IoError>(
        fs::exists(directory / kConfigName, ignored) ||
            !fs::exists(directory / "adapter_config.json", ignored),
        "{0}: an adapter (adapter_config.json), which needs its base model: `tapestry merge "
        "--model BASE --adapter {0} --out DIR` writes both as one",
        shown(directory));
}

void check_weights_exist(const SavedFiles& files) {
    const fs::path& directory = files.directory();
    std::error_code ignored;
    if (fs::exists(files.path(kWeightsName), ignored)) return;
    const auto found = [&](const char* name) { return fs::exists(directory / name, ignored); };
    if (found(kShardIndexName)) return;
    for (const char* other : {"pytorch_model.bin.index.json", "pytorch_model.bin"}) {
        require<IoError>(!found(other),
                         "{}: found {}, but only {} and its shards are supported (transformers "
                         "writes them: save_pretrained with safe_serialization=True)",
                         directory.string(), other, kWeightsName);
    }
}

void check_is_safetensors(const fs::path& path) {
    const std::string beginning = beginning_of(path);
    if (beginning.size() > 8 && beginning[8] == '{') return;  // after the header's length
    std::string_view kind = kind_of_file(beginning, false);
    const bool is_torch = kind == "a zip archive" || kind == "a Python pickle";
    if (is_torch) {
        kind =
            "what torch.save writes; in Python, safetensors.torch.save_file(torch.load(FILE, "
            "weights_only=True), \"model.safetensors\") converts it";
    }
    if (kind.empty()) kind = kind_of_text(beginning);
    require<IoError>(kind.empty(), "{}: not safetensors, but {}", shown(path), kind);
}

}  // namespace tapestry
