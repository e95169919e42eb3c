// What a run's directory tells of the steps that were taken there: their metrics, under which
// configuration each was taken, and the states that are left. Nothing is locked and nothing
// changed, so it can be asked while the run goes on.
//
//     const RunHistory history("model");
//     for (const StepMetrics& m : history.steps()) fmt::print("{} {}\n", m.step, m.loss);
//
// Read next: rewind.h, which takes the steps again.
#pragma once

#include <tapestry/nn/inspect/step_metrics.h>
#include <tapestry/nn/train/run_directory.h>

#include <filesystem>
#include <string>
#include <vector>

namespace tapestry {

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
