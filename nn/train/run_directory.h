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

#include <tapestry/core/directory.h>
#include <tapestry/nn/inspect/step_metrics.h>
#include <tapestry/nn/io/commit.h>
#include <tapestry/nn/train/checkpoints.h>
#include <tapestry/nn/train/session.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tapestry {

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
    /// The configuration of segment `segment`, from 0, unchecked. A base of int8 weights is where
    /// the latest configuration has it, if it is there.
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
