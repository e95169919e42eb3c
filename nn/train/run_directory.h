// The directory of a training run, locked: what is in it, and how to go on from there.
//
//     RunDirectory directory("model");
//     std::unique_ptr<Session> session = directory.resume({});
//     if (!session) session = std::make_unique<Session>(config);
//     TrainingRun run(*session, directory, {});
//
// Beside the model (model_directory.h) lie metrics.jsonl, report.html, the checkpoints in a folder
// of their own, and the manifest that says what belongs together (nn/io/manifest.h).
// Read next: training_run.h, which fills it; docs/checkpoints.md.
#pragma once

#include <tapestry/core/lock.h>
#include <tapestry/nn/io/commit.h>
#include <tapestry/nn/train/run_state.h>
#include <tapestry/nn/train/session.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tapestry {

/// What a checkpoint was written for. Either does for both.
enum class CheckpointPurpose {
    resume,  ///< at the intervals that were asked for; the latest few stay
    rewind   ///< so that no step is far from one
};

struct StoredCheckpoint {
    std::int64_t step = 0;
    CheckpointPurpose purpose = CheckpointPurpose::resume;

    /// In the directory: "checkpoints/step-00000250.safetensors", or "rewind/...".
    std::string name() const;
    bool operator==(const StoredCheckpoint&) const = default;
};

/// Those that the directory's manifest lists, by ascending steps; where there is no manifest, those
/// that are there. The lock is not needed. Throws IoError.
std::vector<StoredCheckpoint> stored_checkpoints(const std::filesystem::path& directory);
std::vector<StoredCheckpoint> stored_checkpoints(const SavedFiles& files);

class RunDirectory {
public:
    /// Makes the directory if need be, and changes nothing else. Throws IoError, and BusyError if
    /// another run is at work there.
    explicit RunDirectory(std::filesystem::path path);

    const std::filesystem::path& path() const { return path_; }
    /// False on a file system that knows no locks: another run would not be kept out.
    bool is_locked() const { return lock_.is_held(); }

    /// After a run that was killed: finishes its commit, and removes what it had staged for
    /// another. The first checkpoint of a run does that too. Throws IoError.
    void put_in_order() const;

    /// Files among the checkpoints that the manifest does not list, by their names in the
    /// directory. They stay.
    std::vector<std::string> foreign() const;

    /// Files there that this process has written, or has found to be what was saved. For Commit.
    WrittenFiles& written() const { return written_; }

    /// The session of the latest checkpoint, where that left it; null if there is none. Throws as
    /// Session::resume does, and IoError for a file that is not what was saved.
    std::unique_ptr<Session> resume(const ResumeOptions& options, const TextCache* cache = nullptr);

    /// The name of the checkpoint that was resumed from; empty if none was.
    const std::string& resumed_from() const { return resumed_from_; }
    /// How the run went that was resumed; nothing if none was.
    const std::optional<RunState>& resumed() const { return resumed_; }

private:
    std::filesystem::path path_;
    DirectoryLock lock_;
    mutable WrittenFiles written_;  // one thread at a time commits
    std::optional<RunState> resumed_;
    std::string resumed_from_;
};

}  // namespace tapestry
