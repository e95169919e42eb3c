// tapestry-manifest.json: the files of a directory that belong together, with the length and
// checksum of each. Several files cannot be replaced atomically, only one file can. So new files
// are written next to the old ones under other names ("staged"), and then the manifest is replaced,
// which is the commit: before it the old files are valid, after it the new ones, which only need
// renaming.
//
// Reading never writes. If a commit was interrupted before its last rename, SavedFiles reads the
// staged files; the next writer completes it (commit.h).
//
//     const Tensors weights = read_saved("model", [](const SavedFiles& files) {
//         return load(files.path("model.safetensors"));
//     });
//
// Read next: commit.h, which writes; docs/checkpoints.md, what is promised; SECURITY.md, for
// untrusted directories.
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

// Names that the files of a run, a model or a trap may have in its directory. A manifest may be
// untrusted: every name in it is checked here before it is used in a path.

inline constexpr const char* kConfigName = "config.json";         ///< a model's configuration
inline constexpr const char* kWeightsName = "model.safetensors";  ///< a model's parameters
/// The characters of a tokenizer, or Hugging Face's tokenizer.
inline constexpr const char* kTokenizerName = "tokenizer.json";
/// Hugging Face's settings of a tokenizer.
inline constexpr const char* kTokenizerConfigName = "tokenizer_config.json";
inline constexpr const char* kGenerationConfigName = "generation_config.json";  ///< of sampling
inline constexpr const char* kChatTemplateName = "chat_template.jinja";  ///< a program in Jinja
/// In Hugging Face's format, where kTokenizerName is taken.
inline constexpr const char* kCharTokenizerName = "tapestry_tokenizer.json";
inline constexpr const char* kMetricsName = "metrics.jsonl";  ///< a run's numbers, a line per step
/// Byte pairs' tokens beyond vocab.json, if there are any.
inline constexpr const char* kAddedTokensName = "added_tokens.json";
/// Marks a directory of data (nn/io/data_directory.h).
inline constexpr const char* kDataName = "data.json";
inline constexpr const char* kManifestName = "tapestry-manifest.json";  ///< the manifest itself

/// Folders in a run's directory, for its states ("checkpoints", "rewind") and its best model.
inline constexpr const char* kCheckpointsFolder = "checkpoints";
inline constexpr const char* kRewindFolder = "rewind";    ///< states for replaying steps
inline constexpr const char* kBestFolder = "best";        ///< the best model so far
inline constexpr const char* kAdapterFolder = "adapter";  ///< LoRA's updates (nn/io/peft.h)
inline constexpr const char* kBestAdapterFolder = "best/adapter";  ///< those of the best model
/// In it: rank, scale and the names of the matrices.
inline constexpr const char* kAdapterConfigName = "adapter_config.json";
/// In it: the updates.
inline constexpr const char* kAdapterWeightsName = "adapter_model.safetensors";
/// A separate model, with the step at which a run diverged (nn/train/step_record.h).
inline constexpr const char* kTrapFolder = "trap";
/// All folders of a run.
inline constexpr const char* kRunFolders[] = {kCheckpointsFolder, kRewindFolder, kBestFolder,
                                              kAdapterFolder, kBestAdapterFolder};

/// A name in two parts: "checkpoints" and "step-00000250.safetensors"; the first is empty for files
/// in the directory itself.
struct SavedName {
    std::string folder = {};  ///< "checkpoints", "best/adapter", or empty
    std::string file = {};    ///< "step-00000250.safetensors"

    /// "checkpoints/step-00000250.safetensors"
    std::string text() const { return folder.empty() ? file : folder + "/" + file; }
    /// Whether it is a run's state, in checkpoints/ or rewind/.
    bool is_state() const { return folder == kCheckpointsFolder || folder == kRewindFolder; }
};

/// Splits a name that Tapestry may write; empty for any other, including "../a" and "/a".
std::optional<SavedName> saved_name(std::string_view name);

/// Splits a name that is known to be valid.
SavedName parts_of(std::string_view name);

/// "step-00000250.safetensors" and its inverse, empty for any other name.
std::string state_file(std::int64_t step);
/// The step of "step-00000250.safetensors"; nullopt for any other name.
std::optional<std::int64_t> step_of_state(std::string_view file);

/// Whether a file grows after its commit, so the manifest covers only its beginning: metrics.jsonl.
inline bool grows(std::string_view name) { return name == kMetricsName; }

/// Whether the text is a commit's stage: 16 hexadecimal digits.
bool is_stage(std::string_view text);
/// The staged name of a file, in the same folder: ".saving-0123456789abcdef-config.json".
std::string staged_file(std::string_view stage, std::string_view file);
/// The staged name that versions before November 2026 used for a folder's file, in the directory
/// itself: ".saving-0123456789abcdef-best-config.json". Still read, and completed.
std::string staged_flat(std::string_view stage, const SavedName& name);
/// Whether it is a staged name in this folder, of any stage.
bool is_staged_file(std::string_view folder, std::string_view file);

// ---- the manifest -------------------------------------------------------------------------------

/// The files of a directory that belong together, and an interrupted commit.
struct Manifest {
    /// Files by name within the directory, possibly in a folder: "checkpoints/...". All names are
    /// known to saved_name(). For a file that grows, its beginning.
    std::map<std::string, FileDigest> files = {};
    /// Files of the previous commit that this one deletes, until they are removed.
    std::map<std::string, FileDigest> removed = {};
    std::string stage = {};  ///< part of the staged names; empty if nothing was staged

    bool operator==(const Manifest&) const = default;
};

/// Empty if there is no manifest. Throws IoError for one that is damaged, of a newer format, or
/// that lists names of no run or model.
std::optional<Manifest> read_manifest(const std::filesystem::path& directory);

/// The manifest's text.
std::string to_json(const Manifest& manifest);

/// A read-only view of a directory according to its manifest. Locks and writes nothing.
class SavedFiles {
public:
    /// Throws IoError unless the directory exists and is readable, and as read_manifest does.
    explicit SavedFiles(std::filesystem::path directory);

    const std::filesystem::path& directory() const { return directory_; }  ///< as given
    /// nullopt if there is no manifest.
    const std::optional<Manifest>& manifest() const { return manifest_; }

    /// The current path of `name`: the staged file, if a commit was interrupted before its rename
    /// and it matches the manifest; otherwise the final path, whether or not it exists.
    std::filesystem::path path(const std::string& name) const;

    /// Throws IoError for the first of these files that does not match the manifest. Ignores files
    /// that it does not list, and all if there is no manifest.
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
    // By name: staged files that exist, and their expected contents.
    struct Staged {
        std::filesystem::path path;
        FileDigest digest;
        bool operator==(const Staged&) const = default;
    };
    std::map<std::string, Staged> staged_;
};

/// Calls f(SavedFiles(directory)), and again if it throws IoError because files were replaced in
/// the meantime.
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
