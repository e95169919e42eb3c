// The directory of a training run: locked, to train in it (RunDirectory), or read at any time
// (RunHistory).
//
//     RunDirectory directory("model");
//     std::unique_ptr<Session> session = directory.resume({});
//     if (!session) session = std::make_unique<Session>(config);
//     TrainingRun run(*session, directory, {});
//
// The directory holds the model (model_directory.h), metrics.jsonl, report.html, the checkpoints in
// their own folder, and the manifest that lists the files that belong together (nn/io/manifest.h).
// Read next: training_run.h, which fills it; docs/checkpoints.md.
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

// Run metadata stored in a checkpoint, with which the resumed run continues its metrics, its clock
// and its best model.

/// Steps taken under one configuration. A run has one segment, plus one for each time it was
/// resumed with changes.
struct RunSegment {
    std::int64_t first_step = 1;              ///< first step, counted from 1
    std::string config = {};                  ///< TrainingConfig, as JSON
    std::vector<std::string> overrides = {};  ///< names of what changed: "lr", "isa"
};

/// The lowest validation loss so far.
struct BestLoss {
    std::int64_t step = 0;  ///< step after which it was measured
    double val_loss = 0;    ///< nats per token
};

/// A run's metadata in a checkpoint.
struct RunState {
    std::vector<RunSegment> segments = {};  ///< in order; the last one is in progress
    double seconds = 0;                     ///< duration of the run, over all its parts
    FileDigest metrics = {};                ///< of metrics.jsonl, as far as it had been written
    std::optional<BestLoss> best = {};      ///< empty before the first evaluation
    std::int64_t rewind_every = 0;          ///< steps between the rewind states; 0: not known yet
};

/// As JSON, for the checkpoint's metadata.
std::string to_json(const RunState& state);

/// The inverse. Throws IoError that names `what`, the checkpoint.
RunState run_state_from_json(std::string_view json, std::string_view what);

// ---- the directory ------------------------------------------------------------------------------

/// Why a checkpoint was written. Both kinds serve both purposes.
enum class CheckpointPurpose {
    resume,  ///< at the requested intervals; the latest few stay
    rewind   ///< so that every step is close to one
};

/// A checkpoint in a run's directory.
struct StoredCheckpoint {
    std::int64_t step = 0;                                  ///< steps taken before it
    CheckpointPurpose purpose = CheckpointPurpose::resume;  ///< why it was written

    /// Path within the directory: "checkpoints/step-00000250.safetensors", or "rewind/...".
    std::string name() const;
    bool operator==(const StoredCheckpoint&) const = default;
};

/// The checkpoints that the directory's manifest lists, in ascending order; without a manifest, the
/// files found. Needs no lock. Throws IoError.
std::vector<StoredCheckpoint> stored_checkpoints(const std::filesystem::path& directory);
std::vector<StoredCheckpoint> stored_checkpoints(const SavedFiles& files);

/// The directory of a run, locked while this lives.
class RunDirectory {
public:
    /// Creates the directory if necessary and changes nothing else. Throws IoError, and BusyError
    /// if another run is using it.
    explicit RunDirectory(std::filesystem::path path);

    const std::filesystem::path& path() const { return path_; }  ///< as given
    /// False on a file system without locks, where another run is not kept out.
    bool is_locked() const { return lock_.is_held(); }

    /// Cleans up after a killed run: completes its commit and removes files staged for another. A
    /// run's first checkpoint does this as well. Throws IoError.
    void put_in_order() const;

    /// Files in the checkpoint folders that the manifest does not list, as paths within the
    /// directory. They are not touched.
    std::vector<std::string> foreign() const;

    /// Files that this process wrote, or verified to be what was saved. For Commit.
    WrittenFiles& written() const { return written_; }

    /// The session restored from the latest checkpoint; null if there is none. Throws as
    /// Session::resume does, and IoError for a file that is not what was saved.
    std::unique_ptr<Session> resume(const ResumeOptions& options, const TextCache* cache = nullptr);

    /// Name of the checkpoint that was resumed from; empty if none was.
    const std::string& resumed_from() const { return resumed_from_; }
    /// Metadata of the resumed run; empty if none was.
    const std::optional<RunState>& resumed() const { return resumed_; }

private:
    std::filesystem::path path_;
    DirectoryLock lock_;
    mutable WrittenFiles written_;  // only one thread at a time commits
    std::optional<RunState> resumed_;
    std::string resumed_from_;
};

// ---- the steps that were taken there ------------------------------------------------------------

// The metrics of a run's steps, their configurations, and the states that are left. Locks and
// changes nothing, so it can be used while the run continues.
//
//     const RunHistory history("model");
//     for (const StepMetrics& m : history.steps()) fmt::print("{} {}\n", m.step, m.loss);
//
// Read next: replay.h, which replays the steps.

/// The steps, states and configurations of a run, read from its directory once. Needs no lock.
class RunHistory {
public:
    /// Throws IoError for a directory without a run, or with damaged files.
    explicit RunHistory(std::filesystem::path directory);

    const std::filesystem::path& directory() const { return directory_; }  ///< as given

    /// All steps, counted from 1.
    const std::vector<StepMetrics>& steps() const { return steps_; }
    std::int64_t last_step() const { return steps_.back().step; }  ///< number of steps taken
    /// Throws ValueError, naming `what` and the valid range, for a step that was not taken.
    const StepMetrics& step(std::int64_t number, std::string_view what = "step") const;

    /// Metadata of the latest checkpoint, and information on the checkpoint itself.
    const RunState& state() const { return state_; }
    const CheckpointInfo& latest() const { return latest_; }  ///< information on the checkpoint

    /// Index, from 0, of the segment that contains the step, and the configuration of a segment.
    std::size_t segment_of(std::int64_t step) const;
    /// The configuration of segment `segment`, from 0, unchecked.
    TrainingConfig config_of(std::size_t segment) const;

    /// The checkpoints that exist now, in ascending order. They change while the run continues.
    std::vector<StoredCheckpoint> stored() const { return stored_checkpoints(directory_); }

private:
    std::filesystem::path directory_;
    CheckpointInfo latest_;
    RunState state_;
    std::vector<StepMetrics> steps_;
};

}  // namespace tapestry
