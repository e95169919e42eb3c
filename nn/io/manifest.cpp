#include <tapestry/nn/io/manifest.h>

#include <tapestry/core/directory.h>
#include <tapestry/core/text/shown.h>
#include <tapestry/core/version.h>
#include <tapestry/nn/json_tree.h>
#include <tapestry/nn/json_writer.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <random>
#include <set>
#include <system_error>
#include <utility>

namespace tapestry {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kFormat = 1;
// Of staged files: ".saving-<stage>-model.safetensors".
constexpr std::string_view kStaged = ".saving-";

fs::path staged_path(const fs::path& directory, const std::string& stage, std::string name) {
    std::replace(name.begin(), name.end(), '/', '-');  // also that of a folder's file lies here
    return directory / fmt::format("{}{}-{}", kStaged, stage, name);
}

// A number that no other commit has, so that what one has staged is never taken for another's.
std::string new_stage() {
    std::random_device random;
    return fmt::format("{:08x}{:08x}", random(), random());
}

// Whether there was such a file.
bool rename_if_there(const fs::path& from, const fs::path& to) {
    if (std::rename(from.c_str(), to.c_str()) == 0) return true;
    const int error = errno;
    require<IoError>(error == ENOENT, "cannot write {}: {}", shown(to),
                     std::generic_category().message(error));
    return false;
}

// What was renamed is in its place for good before the name it had is forgotten.
void settle(const fs::path& directory, const Manifest& manifest) {
    if (manifest.stage.empty()) return;
    std::set<fs::path> touched;
    for (const auto& [name, digest] : manifest.files) {
        const fs::path place = directory / name;
        if (rename_if_there(staged_path(directory, manifest.stage, name), place)) {
            touched.insert(place.parent_path());
        }
    }
    for (const fs::path& folder : touched) sync_directory(folder);
    if (!touched.empty() && !touched.contains(directory)) sync_directory(directory);
}

void remove_staged(const fs::path& directory) {
    std::error_code ignored;
    for (const std::string& name : names_in(directory)) {
        if (name.starts_with(kStaged)) fs::remove(directory / name, ignored);
    }
}

void write(JsonWriter& json, const FileDigest& digest) {
    json.object([&] {
        json.member("bytes", digest.bytes);
        json.member("xxh3_128", digest.checksum);
    });
}

std::string to_json(const Manifest& manifest) {
    JsonWriter json(2);
    json.object([&] {
        json.member("format", kFormat);
        json.member("tapestry", version());
        json.member("stage", manifest.stage);
        json.member("files", [&] {
            json.object([&] {
                for (const auto& file : manifest.files) {
                    json.member(file.first, [&] { write(json, file.second); });
                }
            });
        });
    });
    return json.text() + "\n";
}

Manifest parse(const std::string& text) {
    const JsonTree tree(text);
    const JsonNode json = tree.root();
    const auto format = json.get<std::uint64_t>("format");
    require(format == kFormat, "it is of format {}; this Tapestry reads format {}", format,
            kFormat);
    Manifest manifest{.stage = json.get<std::string>("stage")};
    for (const auto& [name, value] : json.at("files").members()) {
        manifest.files[name] = {value.get<std::uint64_t>("bytes"),
                                value.get<std::string>("xxh3_128")};
    }
    return manifest;
}

}  // namespace

std::optional<Manifest> read_manifest(const fs::path& directory) {
    const fs::path path = directory / kManifestName;
    if (!is_there(path)) return std::nullopt;
    try {
        return parse(read_file(path));
    } catch (const JsonError& error) {
        fail<IoError>("{}: no manifest: {}", shown(path), error.what());
    } catch (const ValueError& error) {
        fail<IoError>("{}: {}", shown(path), error.what());
    }
}

void settle(const fs::path& directory) {
    if (const auto manifest = read_manifest(directory)) settle(directory, *manifest);
}

void check_files(const fs::path& directory, const std::vector<std::string>& names) {
    const auto manifest = read_manifest(directory);
    if (!manifest) return;
    for (const std::string& name : names) {
        const auto listed = manifest->files.find(name);
        if (listed == manifest->files.end()) continue;
        const FileDigest& wanted = listed->second;
        const FileDigest found = digest_of_file(directory / name);
        require<IoError>(found == wanted,
                         "{}: not what was saved: {} bytes with checksum {}, and {} lists {} with "
                         "{}; it is damaged, or was changed since (then remove the manifest)",
                         shown(directory / name), found.bytes, found.checksum, kManifestName,
                         wanted.bytes, wanted.checksum);
    }
}

Commit::Commit(fs::path directory) : directory_(std::move(directory)) {
    before_ = read_manifest(directory_).value_or(Manifest{});
    settle(directory_, before_);
    remove_staged(directory_);
    after_ = {.files = before_.files, .stage = new_stage()};
}

Commit::~Commit() {
    std::error_code ignored;
    for (const fs::path& path : written_) fs::remove(path, ignored);
    for (const auto& [from, to] : adopted_) fs::rename(to, from, ignored);
}

fs::path Commit::staged(const std::string& name) const {
    return staged_path(directory_, after_.stage, name);
}

void Commit::make_folder_of(const std::string& name) const {
    const fs::path folder = (directory_ / name).parent_path();
    std::error_code ignored;
    if (folder == directory_ || fs::is_directory(folder, ignored)) return;
    make_directories(folder);
    sync_directory(directory_);
}

void Commit::write(const std::string& name, const FileWriter& writer) {
    make_folder_of(name);
    written_.push_back(staged(name));
    after_.files[name] =
        writer(staged(name), {.past_cache = true, .stands_for = directory_ / name});
}

void Commit::write_new(const std::string& name, const FileWriter& writer) {
    if (before_.files.contains(name)) return write(name, writer);
    make_folder_of(name);
    written_.push_back(directory_ / name);
    after_.files[name] = writer(directory_ / name, {.past_cache = true});
}

void Commit::adopt(const std::string& name, const std::string& from, const FileDigest& digest) {
    check_replaceable(directory_ / name);
    require<IoError>(rename_if_there(directory_ / from, staged(name)), "{}: no such file",
                     shown(directory_ / from));
    adopted_.emplace_back(directory_ / from, staged(name));
    sync_directory(directory_);
    after_.files[name] = digest;
}

void Commit::write_manifest_of(const std::string& folder) {
    Manifest manifest;
    for (const auto& [name, digest] : after_.files) {
        if (name.starts_with(folder + "/") && !name.ends_with(kManifestName))
            manifest.files[name.substr(folder.size() + 1)] = digest;
    }
    write(fmt::format("{}/{}", folder, kManifestName),
          [&](const fs::path& path, const WriteOptions& options) {
              return write_file_atomically(path, to_json(manifest), options);
          });
}

void Commit::grown(const std::string& name, const FileDigest& digest) {
    after_.files[name] = digest;
}

void Commit::remove(const std::string& name) {
    if (after_.files.erase(name) > 0) removed_.push_back(name);
}

bool Commit::may_be_done() const {
    try {
        const auto manifest = read_manifest(directory_);
        return manifest && manifest->stage == after_.stage;
    } catch (const std::exception&) {  // a manifest that cannot be read may be the new one
        return true;
    }
}

void Commit::forget_staged() {
    written_.clear();
    adopted_.clear();
}

void Commit::finish() {
    try {
        write_file_atomically(directory_ / kManifestName, to_json(after_));
    } catch (const std::exception&) {
        // The manifest may be in its place all the same, and its directory could not be synced:
        // then the staged files are the directory's, and stay.
        if (may_be_done()) forget_staged();
        throw;
    }
    forget_staged();
    settle(directory_, after_);
    std::error_code ignored;  // a file too many does no harm
    for (const std::string& name : removed_) {
        if (after_.files.contains(name)) continue;
        const fs::path path = directory_ / name;
        fs::remove(path, ignored);
        if (path.parent_path() != directory_) fs::remove(path.parent_path(), ignored);  // if empty
    }
}

}  // namespace tapestry
