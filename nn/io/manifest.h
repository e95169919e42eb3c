// tapestry-manifest.json: which files of a directory belong together, with the length and the
// checksum of each. A directory of several files cannot be replaced at once; one file can. So new
// files are written beside the old under names of their own ("staged"), then the manifest is
// replaced, and that is the moment: before it the old files hold, after it the new ones, which only
// have to be renamed to their places.
//
// Reading writes nothing. Where a commit was interrupted between its moment and its last rename,
// SavedFiles reads the staged files; the next writer finishes it (commit.h).
//
//     const Tensors weights = read_saved("model", [](const SavedFiles& files) {
//         return load(files.path("model.safetensors"));
//     });
//
// Read next: commit.h, which writes; docs/checkpoints.md, what is promised; SECURITY.md, of a
// stranger's directory.
#pragma once

#include <tapestry/core/file.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace tapestry {

// ---- names --------------------------------------------------------------------------------------

// Those that the files of a run, a model or a trap may have in its directory. A manifest may come
// from a stranger: every name out of one is checked here before a path is made of it.

inline constexpr const char* kConfigName = "config.json";
inline constexpr const char* kWeightsName = "model.safetensors";
inline constexpr const char* kTokenizerName = "tokenizer.json";
/// In Hugging Face's format, where kTokenizerName is taken.
inline constexpr const char* kCharTokenizerName = "tapestry_tokenizer.json";
inline constexpr const char* kMetricsName = "metrics.jsonl";
/// It makes a directory one of data (nn/io/data_directory.h).
inline constexpr const char* kDataName = "data.json";
inline constexpr const char* kManifestName = "tapestry-manifest.json";

/// The folders that a run's directory has for its states ("checkpoints", "rewind") and for its best
/// model.
inline constexpr const char* kCheckpointsFolder = "checkpoints";
inline constexpr const char* kRewindFolder = "rewind";
inline constexpr const char* kBestFolder = "best";
/// A model of its own, with the step that a run ended at (nn/train/replay.h).
inline constexpr const char* kTrapFolder = "trap";
inline constexpr const char* kRunFolders[] = {kCheckpointsFolder, kRewindFolder, kBestFolder};

/// A name in two parts: "checkpoints" and "step-00000250.safetensors"; of a file of the directory
/// itself the first is empty.
struct SavedName {
    std::string folder = {};
    std::string file = {};

    std::string text() const { return folder.empty() ? file : folder + "/" + file; }
    /// A training's state, in checkpoints/ or rewind/.
    bool is_state() const { return folder == kCheckpointsFolder || folder == kRewindFolder; }
};

/// The parts of a name that Tapestry may write; nothing for any other, "../a" and "/a" among them.
std::optional<SavedName> saved_name(std::string_view name);

/// The parts of a name that is known to be one.
SavedName parts_of(std::string_view name);

/// "step-00000250.safetensors", and its reverse: nothing for what is not exactly that.
std::string state_file(std::int64_t step);
std::optional<std::int64_t> step_of_state(std::string_view file);

/// Whether a file grows after its commit, of which a manifest lists the beginning: metrics.jsonl.
inline bool grows(std::string_view name) { return name == kMetricsName; }

/// The stage of a commit: 16 hexadecimal digits.
bool is_stage(std::string_view text);
/// The name of a file until its commit has put it in its place, in the same folder:
/// ".saving-0123456789abcdef-config.json".
std::string staged_file(std::string_view stage, std::string_view file);
/// The same until November 2026 for a folder's file, in the directory itself:
/// ".saving-0123456789abcdef-best-config.json". Still read, and finished.
std::string staged_flat(std::string_view stage, const SavedName& name);
/// Whether it is such a name in this folder, of any stage.
bool is_staged_file(std::string_view folder, std::string_view file);

// ---- the manifest -------------------------------------------------------------------------------

struct Manifest {
    /// By their names in the directory, which may have a folder in front: "checkpoints/...". All
    /// are names that saved_name() knows. Of a file that grows this is its beginning.
    std::map<std::string, FileDigest> files = {};
    /// Files of the commit before that this one replaces by none, until they are removed.
    std::map<std::string, FileDigest> removed = {};
    std::string stage = {};  ///< part of the names of staged files; empty: there were none

    bool operator==(const Manifest&) const = default;
};

/// Nothing where there is no manifest. Throws IoError for one that is damaged, of a newer format,
/// or that names what no run or model holds.
std::optional<Manifest> read_manifest(const std::filesystem::path& directory);

/// The manifest's text.
std::string to_json(const Manifest& manifest);

/// A directory as its manifest says that it is, for reading. Nothing is locked, and nothing
/// written.
class SavedFiles {
public:
    /// Throws IoError unless it is a directory that can be looked into, and as read_manifest does.
    explicit SavedFiles(std::filesystem::path directory);

    const std::filesystem::path& directory() const { return directory_; }
    const std::optional<Manifest>& manifest() const { return manifest_; }

    /// Where the contents of `name` are now: the staged file, if a commit was interrupted before it
    /// was renamed and it is the one that the manifest states; otherwise its own place, whether or
    /// not there is such a file.
    std::filesystem::path path(const std::string& name) const;

    /// Throws IoError, naming the file, for the first of these that is not as the manifest says.
    /// Those that it does not list are not looked at, and none where there is no manifest.
    void check(const std::vector<std::string>& names) const;

    /// Whether nothing was committed or renamed between the two.
    bool operator==(const SavedFiles&) const = default;

private:
    void note_staged(const std::string& name, const FileDigest& digest,
                     const std::filesystem::path& place);
    void note_staged_best(const std::filesystem::path& run);
    void read_own_manifest();

    std::filesystem::path directory_;
    std::optional<Manifest> manifest_;
    // By name: staged files that are there, and what they have to be.
    struct Staged {
        std::filesystem::path path;
        FileDigest digest;
        bool operator==(const Staged&) const = default;
    };
    std::map<std::string, Staged> staged_;
};

/// f(SavedFiles(directory)), and again where it throws IoError because files took their places
/// meanwhile.
template <class F>
auto read_saved(const std::filesystem::path& directory, const F& f) {
    constexpr int kAttempts = 100;
    for (int attempt = 1;; ++attempt) {
        const SavedFiles files(directory);
        try {
            return f(files);
        } catch (const IoError&) {
            if (attempt == kAttempts || SavedFiles(directory) == files) throw;
        }
    }
}

}  // namespace tapestry
