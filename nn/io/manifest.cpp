#include <tapestry/nn/io/manifest.h>

#include <tapestry/core/directory.h>
#include <tapestry/core/text/json_tree.h>
#include <tapestry/core/text/json_writer.h>
#include <tapestry/core/text/message.h>
#include <tapestry/core/text/utf8.h>
#include <tapestry/core/version.h>

#include <fmt/format.h>

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <system_error>
#include <utility>

namespace tapestry {
namespace {

constexpr std::string_view kStepPrefix = "step-", kSuffix = ".safetensors", kStaged = ".saving-";
constexpr std::size_t kStageDigits = 16;

constexpr std::array<std::string_view, 9> kModelFiles{
    kConfigName,  kWeightsName,     kTokenizerName,       kCharTokenizerName,   "vocab.json",
    "merges.txt", kAddedTokensName, kTokenizerConfigName, kGenerationConfigName};

bool is_model_file(std::string_view file) {
    return std::find(kModelFiles.begin(), kModelFiles.end(), file) != kModelFiles.end();
}

bool belongs(std::string_view folder, std::string_view file) {
    if (folder.empty()) return is_model_file(file) || file == kMetricsName;
    if (folder == kAdapterFolder || folder == kBestAdapterFolder) {
        return file == kAdapterConfigName || file == kAdapterWeightsName ||
               file == kChatTemplateName || file == kGenerationConfigName;
    }
    if (folder == kBestFolder) return is_model_file(file) || file == kManifestName;
    const bool holds_states = folder == kCheckpointsFolder || folder == kRewindFolder;
    return holds_states && step_of_state(file).has_value();
}

// See staged_flat().
bool belonged(std::string_view flat) {
    return std::any_of(
        std::begin(kRunFolders), std::end(kRunFolders), [flat](std::string_view folder) {
            return flat.size() > folder.size() && flat.starts_with(folder) &&
                   flat[folder.size()] == '-' && belongs(folder, flat.substr(folder.size() + 1));
        });
}

}  // namespace

SavedName parts_of(std::string_view name) {
    const auto slash = name.rfind('/');
    if (slash == name.npos) return {.file = std::string(name)};
    return {std::string(name.substr(0, slash)), std::string(name.substr(slash + 1))};
}

std::optional<SavedName> saved_name(std::string_view name) {
    SavedName parts = parts_of(name);
    if (name.starts_with('/') || !belongs(parts.folder, parts.file)) return std::nullopt;
    return parts;
}

std::string state_file(std::int64_t step) {
    return fmt::format("{}{:08}{}", kStepPrefix, step, kSuffix);
}

std::optional<std::int64_t> step_of_state(std::string_view file) {
    if (!file.starts_with(kStepPrefix) || !file.ends_with(kSuffix)) return std::nullopt;
    std::int64_t step = -1;
    const char* const end = file.data() + file.size() - kSuffix.size();
    const auto [stop, error] = std::from_chars(file.data() + kStepPrefix.size(), end, step);
    if (error != std::errc{} || stop != end || step < 0 || state_file(step) != file)
        return std::nullopt;
    return step;
}

bool is_stage(std::string_view text) {
    return text.size() == kStageDigits && text.find_first_not_of("0123456789abcdef") == text.npos;
}

std::string staged_file(std::string_view stage, std::string_view file) {
    return fmt::format("{}{}-{}", kStaged, stage, file);
}

std::string staged_flat(std::string_view stage, const SavedName& name) {
    return staged_file(stage, name.folder + "-" + name.file);
}

bool is_staged_file(std::string_view folder, std::string_view file) {
    const std::size_t begin = kStaged.size() + kStageDigits;
    if (!file.starts_with(kStaged) || file.size() <= begin || file[begin] != '-') return false;
    if (!is_stage(file.substr(kStaged.size(), kStageDigits))) return false;
    const std::string_view name = file.substr(begin + 1);
    return belongs(folder, name) || (folder.empty() && belonged(name));
}

namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kManifestFormat = 1;
constexpr std::uint64_t kMaxManifest = std::uint64_t{1} << 22;
constexpr std::uint64_t kMaxFile = std::uint64_t{1} << 62;
constexpr std::size_t kChecksumDigits = 32;

void write(JsonWriter& json, const std::map<std::string, FileDigest>& files) {
    json.object([&] {
        for (const auto& [name, digest] : files) {
            json.member(name, [&json, &digest = digest] {
                json.object("bytes", digest.bytes, "xxh3_128", digest.checksum);
            });
        }
    });
}

std::map<std::string, FileDigest> files_from(const JsonNode& json) {
    std::map<std::string, FileDigest> files;
    for (const auto& [name, value] : json.members()) {
        require(saved_name(name).has_value(),
                "it lists {}, which is not a file of a run or a model; nothing was read or written",
                utf8::quoted(name));
        const FileDigest digest{value.get<std::uint64_t>("bytes"),
                                value.get<std::string>("xxh3_128")};
        require(digest.checksum.size() == kChecksumDigits &&
                    digest.checksum.find_first_not_of("0123456789abcdef") == std::string::npos,
                "the checksum of {} is {}, which is not 32 hexadecimal digits", utf8::quoted(name),
                utf8::quoted(digest.checksum));
        require(digest.bytes < kMaxFile, "{} has {} bytes, more than a file can have",
                utf8::quoted(name), digest.bytes);
        files[name] = digest;
    }
    return files;
}

Manifest parse_manifest(const std::string& text) {
    const JsonTree tree(text);
    const JsonNode json = tree.root();
    const auto format = json.get<std::uint64_t>("format");
    require(format == kManifestFormat, "it is of format {}; this Tapestry reads format {}", format,
            kManifestFormat);
    Manifest manifest{.files = files_from(json.at("files")),
                      .stage = json.get<std::string>("stage")};
    require(manifest.stage.empty() || is_stage(manifest.stage),
            "its stage is {}, which is not 16 hexadecimal digits", utf8::quoted(manifest.stage));
    if (const auto removed = json.find("removed")) manifest.removed = files_from(*removed);
    return manifest;
}

Manifest read(const fs::path& path) {
    try {
        return parse_manifest(read_file(path, kMaxManifest));
    } catch (const JsonError& error) {
        fail<IoError>("{}: no manifest: {}", shown(path), error.what());
    } catch (const ValueError& error) {
        fail<IoError>("{}: {}", shown(path), error.what());
    }
}

bool is_regular(const fs::path& path) {
    std::error_code ignored;
    return fs::is_regular_file(fs::symlink_status(path, ignored));
}

bool holds(const fs::path& path, const std::string& name, const FileDigest& digest) {
    try {
        const std::uint64_t bytes =
            InputFile(path).size();  // first: a sparse file can have any size
        if (grows(name) ? bytes < digest.bytes : bytes != digest.bytes) return false;
        return digest_of_file(path, digest.bytes) == digest;
    } catch (const IoError&) {
        return false;
    }
}

// Directories whose folder best/ `directory` may be: by its name as given, and with links resolved.
std::vector<fs::path> runs_of_best(const fs::path& directory) {
    std::error_code ignored;
    std::vector<fs::path> runs;
    for (fs::path whole :
         {fs::absolute(directory, ignored).lexically_normal(), fs::canonical(directory, ignored)}) {
        if (whole.filename().empty()) whole = whole.parent_path();
        if (whole.filename() == kBestFolder) runs.push_back(whole.parent_path());
    }
    return runs;
}

// In a directory writable by several users, such as /tmp, the files next to a model may belong to
// any of them.
bool is_of_same_user(const fs::path& a, const fs::path& b) {
    struct stat of_a {
    }, of_b{};
    return ::lstat(a.c_str(), &of_a) == 0 && ::stat(b.c_str(), &of_b) == 0 &&
           of_a.st_uid == of_b.st_uid;
}

}  // namespace

std::string to_json(const Manifest& manifest) {
    JsonWriter json(2);
    json.object([&] {
        json.member("format", kManifestFormat);
        json.member("tapestry", version());
        json.member("stage", manifest.stage);
        json.member("files", [&] { write(json, manifest.files); });
        if (!manifest.removed.empty()) {
            json.member("removed", [&] { write(json, manifest.removed); });
        }
    });
    return json.text() + "\n";
}

std::optional<Manifest> read_manifest(const fs::path& directory) {
    const fs::path path = directory / kManifestName;
    if (!is_there(path)) return std::nullopt;
    return read(path);
}

// If two places have a file, the first one counts.
void SavedFiles::note_staged(const std::string& name, const FileDigest& digest,
                             const fs::path& place) {
    if (is_regular(place)) staged_.insert({name, {place, digest}});
}

// A run's best model is committed with everything else, by the run's manifest.
void SavedFiles::note_staged_best(const fs::path& run) {
    std::optional<Manifest> manifest;
    try {
        manifest = read_manifest(run);
    } catch (const IoError&) {  // not a run's, or unreadable
    }
    if (!manifest || manifest->stage.empty()) return;
    for (const auto& [name, digest] : manifest->files) {
        const SavedName parts = parts_of(name);
        if (parts.folder != kBestFolder) continue;
        note_staged(parts.file, digest, directory_ / staged_file(manifest->stage, parts.file));
        const fs::path flat = run / staged_flat(manifest->stage, parts);
        if (is_of_same_user(flat, directory_)) note_staged(parts.file, digest, flat);
    }
}

// A staged manifest may be renamed concurrently; it is then at its final path.
void SavedFiles::read_own_manifest() {
    const fs::path now = path(kManifestName), place = directory_ / kManifestName;
    if (now != place) {
        try {
            manifest_ = read(now);
            return;
        } catch (const IoError&) {
            if (is_there(now)) throw;
        }
    }
    if (is_there(place)) manifest_ = read(place);
}

SavedFiles::SavedFiles(fs::path directory) : directory_(std::move(directory)) {
    std::error_code ignored;  // otherwise an unreadable folder throws another error
    require<IoError>(fs::is_directory(directory_, ignored), "{}: no such directory",
                     shown(directory_));
    for (const fs::path& run : runs_of_best(directory_)) note_staged_best(run);
    read_own_manifest();
    if (!manifest_ || manifest_->stage.empty()) return;
    for (const auto& [name, digest] : manifest_->files) {
        const SavedName parts = parts_of(name);
        // Not directory_ / "" / file: if memory runs out there, libstdc++ 12 frees a string twice.
        const SavedName staged{parts.folder, staged_file(manifest_->stage, parts.file)};
        note_staged(name, digest, directory_ / staged.text());
        if (parts.folder.empty()) continue;
        note_staged(name, digest, directory_ / staged_flat(manifest_->stage, parts));
    }
}

fs::path SavedFiles::path(const std::string& name) const {
    const auto found = staged_.find(name);
    const bool serves =
        found != staged_.end() && holds(found->second.path, name, found->second.digest);
    return serves ? found->second.path : directory_ / name;
}

void SavedFiles::check(const std::vector<std::string>& names) const {
    if (!manifest_) return;
    for (const std::string& name : names) {
        const auto listed = manifest_->files.find(name);
        if (listed == manifest_->files.end()) continue;
        const FileDigest& wanted = listed->second;
        const FileDigest found = digest_of_file(path(name), wanted.bytes + 1);
        const bool is_in_folder = name.find('/') != std::string::npos;
        require<IoError>(found == wanted,
                         "{}: not what was saved: {} bytes with checksum {}, and {} lists {} with "
                         "{}; it is damaged, or was changed since{}",
                         shown(directory_ / name), found.bytes, found.checksum, kManifestName,
                         wanted.bytes, wanted.checksum,
                         is_in_folder ? "" : " (to keep the change, delete its entry there)");
    }
}

}  // namespace tapestry
