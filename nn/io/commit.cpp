#include <tapestry/nn/io/commit.h>

#include <tapestry/core/text/message.h>
#include <tapestry/core/text/utf8.h>

#include <cstdint>
#include <random>
#include <system_error>
#include <utility>

namespace tapestry {
namespace {

namespace fs = std::filesystem;

// A number unique to this commit, which keeps its staged files apart from another's.
std::string new_stage() {
    std::random_device random;
    return fmt::format("{:08x}{:08x}", random(), random());
}

SavedName checked(const std::string& name) {
    const auto parts = saved_name(name);
    require(parts.has_value(), "commit: {} is not a file of a run or a model", utf8::quoted(name));
    return *parts;
}

// Of new files: those of the weights, which a user may have made private.
mode_t permissions_here(const fs::path& directory) {
    std::error_code error;
    const fs::file_status status = fs::status(directory / kWeightsName, error);
    if (error || status.type() != fs::file_type::regular) return 0666;
    return static_cast<mode_t>(status.permissions()) & 0666;
}

bool holds(const Folder& folder, const std::string& file, const SavedName& name,
           const FileDigest& digest) {
    const auto identity = folder.identity(file);  // size first: a sparse file can have any size
    if (!identity) return false;
    const bool fits =
        grows(name.text()) ? identity->bytes >= digest.bytes : identity->bytes == digest.bytes;
    return fits && folder.digest(file, digest.bytes) == digest;
}

}  // namespace

// The final position of a file.
struct Commit::Place {
    Folder folder;
    SavedName name;

    fs::path path() const { return folder.path() / name.file; }
};

Commit::Commit(fs::path directory, WrittenFiles* written)
    : directory_(std::move(directory)),
      folder_(directory_),
      known_(written),
      before_(read_manifest(directory_).value_or(Manifest{})) {
    settle();
    remove_left_over();
    remove_listed(before_);
    after_ = {.files = before_.files, .stage = new_stage()};
}

Commit::~Commit() {
    for (const Staged& one : staged_) {
        try {
            if (one.from.empty()) {
                one.folder.remove(one.file);
            } else {
                one.folder.rename(one.file, one.folder, one.from);
            }
        } catch (const std::exception&) {  // it stays, and the next commit removes it
        }
    }
}

// Empty if its folder does not exist.
std::optional<Commit::Place> Commit::find(const SavedName& name) const {
    if (name.folder.empty()) return Place{folder_, name};
    auto folder = folder_.find(name.folder);
    if (!folder) return std::nullopt;
    return Place{*std::move(folder), name};
}

// Makes the renames durable before the staged names are forgotten.
void Commit::settle() {
    if (before_.stage.empty()) return;
    for (const auto& [name, digest] : before_.files) {
        const auto place = find(parts_of(name));
        if (!place) continue;
        const auto put = [&, &digest = digest](const Folder& from, const std::string& staged) {
            if (!holds(from, staged, place->name, digest)) return;
            from.rename(staged, place->folder, place->name.file);
            place->folder.sync();
            from.sync();
        };
        put(place->folder, staged_file(before_.stage, place->name.file));
        if (!place->name.folder.empty()) put(folder_, staged_flat(before_.stage, place->name));
    }
}

// Removes what killed processes left behind; after settle(), no commit needs it.
void Commit::remove_left_over() {
    const auto tidy = [](const Folder& folder, const std::string& name) {
        for (const std::string& file : names_in(folder.path())) {
            if (is_staged_file(name, file)) folder.remove(file);
        }
        remove_stale_temporaries(folder.path());
    };
    tidy(folder_, "");
    for (const std::string name : kRunFolders) {
        try {
            if (const auto folder = folder_.find(name)) tidy(*folder, name);
        } catch (const IoError&) {  // a link: not ours to write into
        }
    }
}

bool Commit::is_ours(const Place& place, const FileDigest& digest) const {
    const auto identity = place.folder.identity(place.name.file);
    if (!identity) return false;
    if (known_ == nullptr) return holds(place.folder, place.name.file, place.name, digest);
    const std::string name = place.name.text();
    const auto known = known_->find(name);
    if (known != known_->end() && known->second == identity) return true;
    if (!holds(place.folder, place.name.file, place.name, digest)) return false;
    (*known_)[name] = *identity;
    return true;
}

// Returns the files that stay.
std::vector<std::string> Commit::remove_listed(const Manifest& manifest) {
    std::vector<std::string> kept;
    for (const auto& [name, digest] : manifest.removed) {
        const auto place = find(parts_of(name));
        const bool is_gone = !place || !place->folder.has(place->name.file);
        if (is_gone || manifest.files.contains(name)) continue;
        bool may_go = false;
        try {
            may_go = is_ours(*place, digest);
        } catch (const IoError&) {  // an unreadable file may be another's
        }
        if (!may_go) {
            kept.push_back(name);
            continue;
        }
        place->folder.remove(place->name.file);
        if (place->name.folder.empty()) continue;
        const SavedName folder = parts_of(place->name.folder);
        if (const auto around = find(folder)) around->folder.remove(folder.file);  // if it is empty
    }
    return kept;
}

void Commit::check_place(const std::string& name) const {
    const auto place = find(checked(name));
    if (!place || place->name.folder.empty() || !place->folder.has(place->name.file)) return;
    const bool is_listed = after_.files.contains(name) || after_.removed.contains(name);
    const bool free =
        is_listed && is_ours(*place, after_.files.contains(name) ? after_.files.at(name)
                                                                 : after_.removed.at(name));
    require<PlaceTakenError>(
        free,
        "cannot write {}: a file of that name is there that is not what {} lists; move "
        "it away",
        shown(place->path()), kManifestName);
}

void Commit::write(const std::string& name, const FileWriter& writer) {
    const SavedName parts = checked(name);
    const Place place{parts.folder.empty() ? folder_ : folder_.make(parts.folder), parts};
    check_place(name);
    const std::string staged = staged_file(after_.stage, parts.file);
    staged_.push_back({place.folder, staged, parts, {}});
    after_.files[name] =
        writer(place.folder.path() / staged, {.past_cache = true,
                                              .stands_for = place.path(),
                                              .permissions = permissions_here(directory_),
                                              .through_link = parts.folder.empty()});
}

void Commit::adopt(const std::string& name, const std::string& from, const FileDigest& digest) {
    const SavedName parts = checked(name);
    check_replaceable(directory_ / name);
    const std::string staged = staged_file(after_.stage, parts.file);
    staged_.push_back({folder_, staged, parts, from});
    require<IoError>(folder_.rename(from, folder_, staged), "{}: no such file",
                     shown(directory_ / from));
    folder_.sync();
    after_.files[name] = digest;
}

void Commit::write_manifest_of(const std::string& folder) {
    Manifest manifest;
    for (const auto& [name, digest] : after_.files) {
        if (!name.starts_with(folder + '/')) continue;
        const std::string inner = name.substr(folder.size() + 1);
        if (inner != kManifestName) manifest.files[inner] = digest;
    }
    write(fmt::format("{}/{}", folder, kManifestName),
          [&](const fs::path& path, const WriteOptions& options) {
              return write_file_atomically(path, to_json(manifest), options);
          });
}

void Commit::list(const std::string& name, const FileDigest& digest) {
    after_.files[checked(name).text()] = digest;
}

void Commit::remove(const std::string& name) {
    const auto listed = after_.files.find(name);
    if (listed == after_.files.end()) return;
    after_.removed[name] = listed->second;
    after_.files.erase(listed);
}

void Commit::remove_model() {
    for (const auto& [name, digest] : before_.files) {
        if (parts_of(name).folder.empty() && !grows(name)) remove(name);
    }
}

bool Commit::may_be_done() const {
    try {
        const auto manifest = read_manifest(directory_);
        return manifest && manifest->stage == after_.stage;
    } catch (const std::exception&) {  // an unreadable manifest may be the new one
        return true;
    }
}

void Commit::finish() {
    std::erase_if(after_.removed,
                  [this](const auto& one) { return after_.files.contains(one.first); });
    try {
        write_file_atomically(directory_ / kManifestName, to_json(after_));
    } catch (const std::exception&) {
        // The manifest may be in place although syncing its directory failed: then the staged files
        // belong to the directory, and stay.
        is_done_ = may_be_done();
        if (is_done_) staged_.clear();
        throw;
    }
    is_done_ = true;
    const std::vector<Staged> staged = std::exchange(staged_, {});
    for (const Staged& one : staged) one.folder.rename(one.file, one.folder, one.name.file);
    std::map<std::string, Folder> touched;
    for (const Staged& one : staged) touched.insert({one.name.folder, one.folder});
    for (const auto& [name, folder] : touched) folder.sync();
    if (known_ != nullptr) {
        for (const Staged& one : staged) {
            if (const auto identity = one.folder.identity(one.name.file)) {
                (*known_)[one.name.text()] = *identity;
            }
        }
    }
    kept_ = remove_listed(after_);
}

void settle(const fs::path& directory) { const Commit commit(directory); }

}  // namespace tapestry
