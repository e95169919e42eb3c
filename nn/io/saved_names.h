// The names that the files of a run, a model or a trap may have in its directory. A manifest may
// come from a stranger: every name out of one is checked here before a path is made of it. Read
// next: manifest.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tapestry {

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
/// A model of its own, with the step that a run ended at (nn/train/trap.h).
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

}  // namespace tapestry
