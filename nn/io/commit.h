// New files of a directory, which take their places together (manifest.h):
//
//     Commit commit("model");
//     commit.write("config.json", text_file(...));
//     commit.write("model.safetensors", weights_file(...));
//     commit.finish();
//
// It writes below the directory and nowhere else: links in it are not followed, and names are those
// of manifest.h. It removes what Tapestry wrote there, known by name and checksum, and nothing
// else.
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

/// A file that is written to the path it is given, by write_file_atomically with these options.
using FileWriter = std::function<FileDigest(const std::filesystem::path&, const WriteOptions&)>;

/// Files as this process wrote them, or read and found to be what was saved: while their identity
/// holds, their contents need no reading to be known. Reused from one commit to the next.
using WrittenFiles = std::map<std::string, Folder::Identity>;

/// One at a time: whoever makes one has the directory's lock (core/directory.h).
class Commit {
public:
    /// Finishes the commit that was interrupted in the directory, which is there, and removes what
    /// was staged and never committed. Throws IoError. `written` outlives it; may be null.
    explicit Commit(std::filesystem::path directory, WrittenFiles* written = nullptr);
    /// Without finish() nothing has happened.
    ~Commit();
    Commit(const Commit&) = delete;
    Commit& operator=(const Commit&) = delete;

    /// What the directory's files are after the last commit.
    const Manifest& before() const { return before_; }

    /// Stages a file that is to replace `name` or to be it. Throws ValueError for a name that no
    /// run or model has, and as check_place does.
    void write(const std::string& name, const FileWriter& writer);
    /// Throws PlaceTakenError if `name` is a folder's file whose place another file has than the
    /// directory's manifest lists. (What has a name of the directory itself was named by whoever
    /// named the directory.)
    void check_place(const std::string& name) const;
    /// Stages a file that is there under another name, and is to be `name`. May be open.
    void adopt(const std::string& name, const std::string& from, const FileDigest& digest);
    /// Stages a manifest of what was written into this folder, which is then a directory of its own
    /// for whoever reads it.
    void write_manifest_of(const std::string& folder);
    /// Lists a file that is in its place, or that has grown there.
    void list(const std::string& name, const FileDigest& digest);
    /// Removes a file that is listed, if it is still what was saved.
    void remove(const std::string& name);

    /// The moment, and then all the rest. Throws IoError, also when the moment has passed.
    void finish();
    /// Whether the moment has passed, or may have: the new files are the directory's, also if
    /// finish() threw.
    bool is_done() const { return is_done_; }
    /// Of what was to be removed: what stays, being another file than was saved.
    const std::vector<std::string>& kept() const { return kept_; }

private:
    struct Place;
    struct Staged {
        Folder folder;
        std::string file;  // until finish()
        SavedName name;    // and then
        std::string from;  // what it was called before; empty: there was no such file
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
    std::vector<Staged> staged_;  // undone unless finish() comes
    std::vector<std::string> kept_;
    bool is_done_ = false;
};

/// Finishes the commit that was interrupted in the directory, if one was, and removes what others
/// left staged. The caller has its lock. Throws IoError.
void settle(const std::filesystem::path& directory);

}  // namespace tapestry
