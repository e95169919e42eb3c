// tapestry-manifest.json: which files of a directory belong together, with the length and the
// checksum of each. A directory of several files cannot be replaced at once; one file can. So new
// files are written beside the old, under names of their own ("staged"), then the manifest is
// replaced, and that is the moment: before it the old files hold, after it the new ones, whose way
// to their places is a matter of renaming that whoever comes next finishes (settle).
//
//     Commit commit("model");
//     commit.write("config.json", text_file(...));
//     commit.write("model.safetensors", weights_file(...));
//     commit.finish();
//
// Read next: docs/checkpoints.md, what is promised of it; model_files.h, what is written.
#pragma once

#include <tapestry/core/file.h>

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tapestry {

inline constexpr const char* kManifestName = "tapestry-manifest.json";

struct Manifest {
    /// By their names in the directory, which may lie in a folder of it: "checkpoints/...". Of a
    /// file that grows this is its beginning.
    std::map<std::string, FileDigest> files = {};
    std::string stage = {};  ///< part of the names of staged files; empty: there were none

    bool operator==(const Manifest&) const = default;
};

/// Nothing where there is no manifest. Throws IoError for one that is damaged or of a newer format.
std::optional<Manifest> read_manifest(const std::filesystem::path& directory);

/// Renames to their places what the directory's manifest lists and a killed process left staged.
/// Any number of processes may do so at once. Throws IoError if it must not be written.
void settle(const std::filesystem::path& directory);

/// Throws IoError, naming the file, for the first of these that is not as the manifest says. Those
/// that it does not list are not looked at, and none where there is no manifest.
void check_files(const std::filesystem::path& directory, const std::vector<std::string>& names);

/// A file that is written to the path it is given, by write_file_atomically with these options.
using FileWriter = std::function<FileDigest(const std::filesystem::path&, const WriteOptions&)>;

/// New files of a directory, which take their places together. One at a time: see core/lock.h.
class Commit {
public:
    /// Settles the directory, which is there, and removes what was staged and never committed.
    /// Throws IoError.
    explicit Commit(std::filesystem::path directory);
    /// Without finish() nothing has happened.
    ~Commit();
    Commit(const Commit&) = delete;
    Commit& operator=(const Commit&) = delete;

    /// What the directory's files are after the last commit.
    const Manifest& before() const { return before_; }

    /// Stages a file that is to replace `name` or to be it.
    void write(const std::string& name, const FileWriter& writer);
    /// The same without a stage where there is no file of this name so far.
    void write_new(const std::string& name, const FileWriter& writer);
    /// Stages a file that is there under another name, and is to be `name`. May be open.
    void adopt(const std::string& name, const std::string& from, const FileDigest& digest);
    /// Stages a manifest of what was written into this folder, which is then a directory of its own
    /// for whoever reads it.
    void write_manifest_of(const std::string& folder);
    /// A file of this name is there, and longer than before.
    void grown(const std::string& name, const FileDigest& digest);
    /// Files that are listed so far are there no more. What is not listed stays.
    void remove(const std::string& name);

    /// The moment, and then all the rest. Throws IoError, also when the moment has passed.
    void finish();

private:
    std::filesystem::path staged(const std::string& name) const;
    void make_folder_of(const std::string& name) const;
    bool may_be_done() const;
    void forget_staged();

    std::filesystem::path directory_;
    Manifest before_, after_;
    // What is undone unless finish() comes: files to be removed, and others to have their names
    // back.
    std::vector<std::filesystem::path> written_;
    std::vector<std::pair<std::filesystem::path, std::filesystem::path>> adopted_;
    std::vector<std::string> removed_;
};

}  // namespace tapestry
