// Replaces several files of a directory at once (manifest.h):
//
//     Commit commit("model");
//     commit.write("config.json", text_file(...));
//     commit.write("model.safetensors", weights_file(...));
//     commit.finish();
//
// Writes only below the directory: it does not follow links in it, and takes only the names of
// manifest.h. It only removes files that Tapestry wrote there, identified by name and checksum.
#pragma once

#include <tapestry/core/directory.h>
#include <tapestry/nn/io/manifest.h>

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tapestry {

/// Writes a file to the given path, by write_file_atomically with these options.
using FileWriter = std::function<FileDigest(const std::filesystem::path&, const WriteOptions&)>;

/// Files that this process wrote, or has verified by reading: while their identity is unchanged,
/// they need not be read again. Reused from one commit to the next.
using WrittenFiles = std::map<std::string, Folder::Identity>;

/// At most one exists at a time: its owner holds the directory's lock (core/directory.h).
class Commit {
public:
    /// Completes a commit that was interrupted in the directory, which must exist, and removes
    /// files that were staged but never committed. Throws IoError. `written` must outlive it; may
    /// be null.
    explicit Commit(std::filesystem::path directory, WrittenFiles* written = nullptr);
    /// Undoes everything unless finish() was called.
    ~Commit();
    Commit(const Commit&) = delete;
    Commit& operator=(const Commit&) = delete;

    /// The directory's files after the last commit.
    const Manifest& before() const { return before_; }

    /// Stages a file that replaces or becomes `name`. Throws ValueError for a name that no run or
    /// model has, and as check_place does.
    void write(const std::string& name, const FileWriter& writer);
    /// Throws PlaceTakenError if `name` is in a folder and the file there is not the one that the
    /// directory's manifest lists. (Files in the directory itself are the responsibility of the
    /// user who named the directory.)
    void check_place(const std::string& name) const;
    /// Stages an existing file to be renamed to `name`. It may be open.
    void adopt(const std::string& name, const std::string& from, const FileDigest& digest);
    /// Stages a manifest of the files written into this folder, which makes it readable as a
    /// directory by itself.
    void write_manifest_of(const std::string& folder);
    /// Lists a file that is already in place, or was appended to there.
    void list(const std::string& name, const FileDigest& digest);
    /// Removes a listed file, if it is still what was saved.
    void remove(const std::string& name);
    /// Removes the listed files of a model in the directory itself, unless they are written after
    /// this: an old tokenizer's would be read with the new one's.
    void remove_model();

    /// Commits, then renames the files into place. Throws IoError, possibly after the commit took
    /// effect.
    void finish();
    /// Whether the commit took effect, or may have: the new files are then the directory's, even if
    /// finish() threw.
    bool is_done() const { return is_done_; }
    /// Files that remove() left because they are not what was saved.
    const std::vector<std::string>& kept() const { return kept_; }

private:
    struct Place;
    struct Staged {
        Folder folder;
        std::string file;  // its name until finish()
        SavedName name;    // and afterwards
        std::string from;  // its original name; empty if the commit wrote it
    };

    std::optional<Place> find(const SavedName& name) const;
    void settle();
    void remove_left_over();
    bool is_ours(const Place& place, const FileDigest& digest) const;
    std::vector<std::string> remove_listed(const Manifest& manifest);
    bool may_be_done() const;

    std::filesystem::path directory_;
    Folder folder_;
    WrittenFiles* known_;
    Manifest before_, after_;
    std::vector<Staged> staged_;  // undone without finish()
    std::vector<std::string> kept_;
    bool is_done_ = false;
};

/// Completes a commit that was interrupted in the directory, if there is one, and removes staged
/// files that others left behind. The caller must hold the lock. Throws IoError.
void settle(const std::filesystem::path& directory);

}  // namespace tapestry
