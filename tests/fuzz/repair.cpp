#include <tapestry/core/checksum.h>
#include <tapestry/core/error.h>
#include <tapestry/nn/data/bpe.h>
#include <tapestry/nn/io/manifest.h>
#include <tapestry/tests/fuzz/repair.h>

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

namespace tapestry::fuzz {
namespace {

std::string folder_of(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    return slash == std::string::npos ? "" : path.substr(0, slash);
}

std::string digest_json(const std::string& contents) {
    return fmt::format(R"({{"bytes": {}, "xxh3_128": "{}"}})", contents.size(),
                       checksum_of(contents));
}

// The file that the manifest calls `name`: the staged one or the one in place.
const Entry* listed(const Archive& archive, const std::string& folder, const std::string& name,
                    const std::string& stage) {
    const std::string above = folder.empty() ? "" : folder + "/";
    for (const bool beside_manifest : {false, true}) {
        const Entry* staged = find(archive, above + staged_path(name, stage, beside_manifest));
        if (staged != nullptr) return staged;
    }
    return find(archive, above + name);
}

// Replaces the text after `"name":` up to and including `end`.
void replace_value(std::string& text, const std::string& name, char end, const std::string& value) {
    const std::size_t at = text.find(fmt::format("\"{}\":", name));
    if (at == std::string::npos) return;
    const std::size_t begin = at + name.size() + 3;
    const std::size_t last = text.find(end, begin);
    if (last != std::string::npos) text.replace(begin, last + 1 - begin, " " + value);
}

void repair_manifest(const Archive& archive, Entry& manifest) {
    const std::string folder = folder_of(manifest.path);
    const std::string stage = stage_in(archive, folder);
    std::string& text = manifest.contents;
    for (std::size_t at = text.find("\"files\""); at != std::string::npos;) {
        at = text.find('{', at + 1);
        const std::size_t end = text.find('}', at);
        if (end == std::string::npos) return;
        const std::size_t close = text.rfind('"', at), open = text.rfind('"', close - 1);
        if (close == std::string::npos || open == std::string::npos) return;
        const std::string name = text.substr(open + 1, close - open - 1);
        const Entry* entry = name == "files" ? nullptr : listed(archive, folder, name, stage);
        if (entry == nullptr) continue;
        const std::string digest = digest_json(entry->contents);
        text.replace(at, end + 1 - at, digest);
        at += digest.size() - 1;
    }
}

// "" if there is no valid tokenizer.
std::string tokenizer_hash(const Archive& archive, const std::string& folder) {
    try {
        if (const Entry* characters = find(archive, folder + "/tokenizer.json")) {
            return CharTokenizer::from_json(characters->contents).hash();
        }
        const Entry* vocab = find(archive, folder + "/vocab.json");
        const Entry* merges = find(archive, folder + "/merges.txt");
        if (vocab == nullptr || merges == nullptr) return {};
        return BytePairTokenizer::from_text(vocab->contents, merges->contents).hash();
    } catch (const Error&) {
        return {};
    }
}

void repair_data(const Archive& archive, Entry& data) {
    const std::string folder = folder_of(data.path);
    if (const Entry* ids = find(archive, folder + "/ids.bin")) {
        replace_value(data.contents, "ids_xxh3", ',', '"' + checksum_of(ids->contents) + "\",");
    }
    const std::string hash = tokenizer_hash(archive, folder);
    if (!hash.empty()) replace_value(data.contents, "tokenizer_xxh3", ',', '"' + hash + "\",");
}

}  // namespace

std::string staged_path(const std::string& path, const std::string& stage, bool beside_manifest) {
    if (beside_manifest) {
        std::string name = path;
        std::replace(name.begin(), name.end(), '/', '-');
        return ".saving-" + stage + "-" + name;
    }
    const std::size_t name = path.rfind('/') + 1;
    return path.substr(0, name) + ".saving-" + stage + "-" + path.substr(name);
}

std::string manifest_of(const Archive& archive, const std::string& folder,
                        const std::string& stage) {
    std::string files;
    for (const Entry& entry : archive.entries) {
        if (!entry.path.starts_with(folder + "/")) continue;
        const std::string name = entry.path.substr(folder.size() + 1);
        if (name == kManifestName || name.find(".saving-") != std::string::npos) continue;
        files += fmt::format("{}\n    \"{}\": {}", files.empty() ? "" : ",", name,
                             digest_json(entry.contents));
    }
    return fmt::format(
        "{{\n  \"format\": 1,\n  \"tapestry\": \"0.1.0\",\n  \"stage\": \"{}\",\n  "
        "\"files\": {{{}\n  }}\n}}\n",
        stage, files);
}

std::string stage_in(const Archive& archive, const std::string& folder) {
    const Entry* manifest =
        find(archive, folder.empty() ? kManifestName : folder + "/" + kManifestName);
    if (manifest == nullptr) return {};
    const std::string& text = manifest->contents;
    const std::size_t at = text.find("\"stage\":");
    if (at == std::string::npos) return {};
    const std::size_t open = text.find('"', at + 8), close = text.find('"', open + 1);
    return close == std::string::npos ? "" : text.substr(open + 1, close - open - 1);
}

void repair(Archive& archive) {
    for (Entry& entry : archive.entries) {
        if (entry.path.ends_with("data.json")) repair_data(archive, entry);
    }
    for (const bool of_best : {true, false}) {  // D's manifest lists best's
        for (Entry& entry : archive.entries) {
            const bool deep = std::count(entry.path.begin(), entry.path.end(), '/') > 1;
            if (entry.path.ends_with(kManifestName) && deep == of_best) {
                repair_manifest(archive, entry);
            }
        }
    }
}

Entry* find(Archive& archive, const std::string& path) {
    return const_cast<Entry*>(find(std::as_const(archive), path));
}

const Entry* find(const Archive& archive, const std::string& path) {
    const auto same = [&path](const Entry& entry) { return entry.path == path; };
    const auto found = std::find_if(archive.entries.begin(), archive.entries.end(), same);
    return found == archive.entries.end() ? nullptr : &*found;
}

}  // namespace tapestry::fuzz
