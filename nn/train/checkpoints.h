// The checkpoints of a run: when one is due, its name, what it stores of the run, and which of them
// stay. The act itself is in three more files: checkpoint_writer.h, the thread and the files of a
// checkpoint; nn/io/checkpoint.h, the copy of a run's state and its bytes; nn/io/commit.h, the
// replacement of several files at once. Read next: checkpoint_writer.h.
#pragma once

#include <tapestry/core/checksum.h>
#include <tapestry/core/clock.h>
#include <tapestry/nn/inspect/step_metrics.h>
#include <tapestry/nn/io/manifest.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tapestry {

// ---- their names --------------------------------------------------------------------------------

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

/// The files in the checkpoint folders, listed or not, as paths within the directory.
std::vector<std::string> checkpoint_files(const std::filesystem::path& directory);

// ---- what one stores of the run -----------------------------------------------------------------

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

// ---- when ---------------------------------------------------------------------------------------

/// When to write checkpoints, and which to keep.
struct CheckpointOptions {
    bool written = true;           ///< false: save only the model
    std::int64_t every_steps = 0;  ///< interval in steps; 0: none
    double every_seconds = 0;      ///< interval in seconds; 0: none
    std::int64_t keep = 1;         ///< number of resume checkpoints to keep
    bool best = false;  ///< also keep the one with the best validation loss, its model in out/best
    /// Bytes for the rewind states, from which steps are replayed; empty: ten checkpoints, and at
    /// most kRewindBudget.
    std::optional<double> rewind_budget = {};
    static constexpr double kRewindBudget = 4e8;  ///< bytes for those of a large model
};

/// Decides after each step of a run whether to write a checkpoint.
class CheckpointSchedule {
public:
    /// The run starts now.
    explicit CheckpointSchedule(const CheckpointOptions& options) : options_(options) {}

    /// Updates state.rewind_every once the duration of a step is known. A run that was extended may
    /// need a greater distance: it is doubled, which keeps the existing states useful.
    void set_rewind_distance(RunState& state, std::int64_t steps, double step_seconds,
                             std::uint64_t bytes) const;

    /// The checkpoint that falls due after this step, if any. `failed`: the latest attempt did, and
    /// is retried after a while.
    std::optional<CheckpointPurpose> due_after(const StepMetrics& metrics,
                                               std::int64_t rewind_every, bool failed) const;

    /// The checkpoint to write now, given the one that fell due. One that falls due while another
    /// is being written (`busy`) follows it. But the best is saved now, and rewind states are
    /// written on time or skipped.
    std::optional<CheckpointPurpose> next(std::optional<CheckpointPurpose> due, bool best,
                                          bool busy);

    /// Call when a checkpoint is started.
    void started();

private:
    double age() const { return seconds_since(last_); }

    CheckpointOptions options_;
    Clock::time_point last_ = Clock::now();     // when the latest was started
    std::optional<CheckpointPurpose> overdue_;  // became due while another was being written
};

// ---- which stay ---------------------------------------------------------------------------------

// The latest checkpoints are for resuming, the best for going back to. All others are for replaying
// steps: evenly spaced so that every step is close to one, with the distance doubled when they
// take too much space.

/// Which checkpoints to keep.
struct Retention {
    std::int64_t keep = 1;                  ///< number of resume checkpoints to keep
    std::optional<std::int64_t> best = {};  ///< a step to keep
    std::int64_t rewind_every = 0;          ///< keep all multiples of this; 0: none
    /// Steps to keep because a segment with other settings begins after them.
    std::vector<std::int64_t> begun = {};
};

/// The checkpoints that may be removed. `stored` is in ascending order of steps; its last one
/// always stays.
std::vector<StoredCheckpoint> superseded(const std::vector<StoredCheckpoint>& stored,
                                         const Retention& retention);

/// Distance in steps between rewind states of `bytes` each: enough for all of them to fit into
/// `budget` over `steps` steps, and for about half a second of steps, at `step_seconds` each,
/// between two states. 0 if fewer than three fit.
std::int64_t rewind_distance(std::int64_t steps, double step_seconds, double bytes, double budget);

}  // namespace tapestry
