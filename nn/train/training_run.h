// Runs a session in a directory: takes all steps, saves the model at every evaluation, and writes
// the metrics of every step and an HTML report next to the model.
//
//     Session session({.text = "input.txt", .steps = 500});
//     TrainingRun run(session, {.out = "model"});
//     const TrainingResult result = run.to_the_end();
//
// Nothing is printed; callbacks report progress. Read next: run_directory.h, to resume an
// interrupted run; session.h; live_report.h and step_record.h, parts that also work on their own.
#pragma once

#include <tapestry/nn/inspect/step_metrics.h>
#include <tapestry/nn/pages/report.h>
#include <tapestry/nn/train/checkpoints.h>
#include <tapestry/nn/train/run_directory.h>
#include <tapestry/nn/train/session.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tapestry {

class CheckpointWriter;
struct SaveProblem;

/// The steps of another run that this one continues (begin_run.h).
struct ParentRun {
    std::int64_t step = 0;                ///< the last of them
    RunState state = {};                  ///< with a segment for the steps that follow
    std::string lines = {};               ///< of metrics.jsonl
    std::vector<StepMetrics> steps = {};  ///< parsed from `lines`
};

/// What to write, and callbacks.
struct TrainingRunOptions {
    std::filesystem::path out = {};         ///< for model, tokenizer, metrics.jsonl and report.html
    bool report = true;                     ///< write report.html
    bool trap_nan = false;                  ///< record a diverging step in out/trap
    std::int64_t hash_every = 0;            ///< steps between checksums of all gradients; 0: none
    std::optional<ParentRun> earlier = {};  ///< not for a run that is resumed
    /// With no interval set: at every evaluation. Always one at the end.
    CheckpointOptions checkpoints = {};
    TrainingRecipe recipe = {};  ///< the report's instructions to reproduce the run
    /// Called after each step; return false to end the run, which is then saved. May be empty.
    std::function<bool(const StepMetrics&, const Speed&)> stepped = {};
    /// Called once for each problem in writing the report or a checkpoint; training continues. May
    /// be empty.
    std::function<void(const std::string&)> warn = {};
    /// Called with the reason when the last checkpoint cannot be written; may wait, and returns
    /// whether to retry. Empty: do not retry.
    std::function<bool(const SaveProblem&)> retry = {};
};

/// How a run ended.
struct TrainingResult {
    StepMetrics last;                ///< last step
    std::optional<double> val_loss;  ///< the latest
    double tokens_per_second = 0;    ///< evaluations included
    std::string unit = "tokens";     ///< Task::unit(), what that counts
    double of_peak = 0;              ///< fraction of the machine's peak, evaluations excluded
    std::int64_t steps = 0;          ///< that the run was to take
    double minutes = 0;              ///< its time limit; 0: none
    bool interrupted = false;        ///< `stepped` returned false before the last step
    bool resumable = true;           ///< there is a checkpoint to resume from
    double bytes = 0;                ///< of all files in the directory; 0: not known
    std::string plan = {};           ///< plan_text(), if memory was planned
    std::string report = {};         ///< the report's path and cost; empty: none
    std::string concern = {};        ///< the diagnosis if it is bad, else LossWatch::concern()
};

/// Takes the steps of a session and writes its directory. See above.
class TrainingRun {
public:
    /// Throws IoError if the model could not be saved there, ValueError for a session without steps
    /// to take; existing files stay until the first save. The session must outlive the run.
    TrainingRun(Session& session, const TrainingRunOptions& options);
    /// Runs in a directory that is locked already, possibly the one the session was resumed from;
    /// ignores options.out.
    TrainingRun(Session& session, const RunDirectory& directory, TrainingRunOptions options);
    ~TrainingRun();
    TrainingRun(const TrainingRun&) = delete;
    TrainingRun& operator=(const TrainingRun&) = delete;

    /// Takes the remaining steps and saves the model. Throws DivergedError for a step or weights
    /// that are not finite, which are not saved; IoError if the last checkpoint cannot be written.
    TrainingResult to_the_end();

    const CheckpointWriter& checkpoints() const;  ///< what it has written
    /// Waits until the checkpoint in progress is written.
    void wait_for_checkpoint();

private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace tapestry
