// The directory of a training run: locked, to go on there (RunDirectory), and as it can be read at
// any time (RunHistory).
//
//     RunDirectory directory("model");
//     std::unique_ptr<Session> session = directory.resume({});
//     if (!session) session = std::make_unique<Session>(config);
//     TrainingRun run(*session, directory, {});
//
// Beside the model (model_directory.h) lie metrics.jsonl, report.html, the checkpoints in a folder
// of their own, and the manifest that says what belongs together (nn/io/manifest.h). Read next:
// training_run.h, which fills it; docs/checkpoints.md.
#pragma once

#include <tapestry/core/checksum.h>
#include <tapestry/core/directory.h>
#include <tapestry/nn/inspect/step_metrics.h>
#include <tapestry/nn/io/commit.h>
#include <tapestry/nn/train/session.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tapestry {

// ---- how a run went until a checkpoint ----------------------------------------------------------

// What a checkpoint knows besides the training itself, so that the next part of the run goes on
// with its metrics, its clock and its best model as well.

/// Steps that were taken under one configuration. A run has one, and another for each time that it
/// was resumed with something that differed.
struct RunSegment {
    std::int64_t first_step = 1;
    std::string config = {};                  ///< TrainingConfig, as JSON
    std::vector<std::string> overrides = {};  ///< names of what differed: "lr", "isa"
};

/// The lowest validation loss so far.
struct BestLoss {
    std::int64_t step = 0;
    double val_loss = 0;
};

struct RunState {
    std::vector<RunSegment> segments = {};
    double seconds = 0;       ///< that the run took, of all its parts together
    FileDigest metrics = {};  ///< of metrics.jsonl, as far as it had been written
    std::optional<BestLoss> best = {};
    std::int64_t rewind_every = 0;  ///< steps between the states that are kept; 0: not known yet
};

std::string to_json(const RunState& state);

/// The reverse. Throws IoError in the name of `what`, the checkpoint.
RunState run_state_from_json(std::string_view json, std::string_view what);

// ---- the directory ------------------------------------------------------------------------------

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

// ---- the steps that were taken there ------------------------------------------------------------

// Their metrics, under which configuration each was taken, and the states that are left. Nothing is
// locked and nothing changed, so it can be asked while the run goes on.
//
//     const RunHistory history("model");
//     for (const StepMetrics& m : history.steps()) fmt::print("{} {}\n", m.step, m.loss);
//
// Read next: rewind.h, which takes the steps again.

class RunHistory {
public:
    /// Throws IoError for a directory without a run, or whose files are damaged.
    explicit RunHistory(std::filesystem::path directory);

    const std::filesystem::path& directory() const { return directory_; }

    /// Of all steps, the first being 1.
    const std::vector<StepMetrics>& steps() const { return steps_; }
    std::int64_t last_step() const { return steps_.back().step; }
    /// Throws ValueError for a step that was not taken, in the name of `what`, with the range.
    const StepMetrics& step(std::int64_t number, std::string_view what = "step") const;

    /// How the run stood at its latest checkpoint, and what wrote that.
    const RunState& state() const { return state_; }
    const CheckpointInfo& latest() const { return latest_; }

    /// The number, from 0, of the segment to which the step belongs, and its configuration.
    std::size_t segment_of(std::int64_t step) const;
    TrainingConfig config_of(std::size_t segment) const;

    /// Checkpoints that are there now, by ascending steps. Those of a run that goes on come and go.
    std::vector<StoredCheckpoint> stored() const { return stored_checkpoints(directory_); }

private:
    std::filesystem::path directory_;
    CheckpointInfo latest_;
    RunState state_;
    std::vector<StepMetrics> steps_;
};

}  // namespace tapestry
