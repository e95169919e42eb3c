// A session in a directory: steps are taken to the end, what is learned is saved at every
// evaluation, and beside the model lie the metrics of every step and a page that shows them.
//
//     Session session({.text = "input.txt", .steps = 500});
//     TrainingRun run(session, {.out = "model"});
//     const TrainingResult result = run.to_the_end();
//
// Nothing is printed: who wants to know is called back. Read next: run_directory.h, to go on with
// one that was interrupted; session.h; live_report.h and replay.h, parts that go without it as
// well.
#pragma once

#include <tapestry/nn/inspect/step_metrics.h>
#include <tapestry/nn/pages/report.h>
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

/// When checkpoints are written, and which stay.
struct CheckpointOptions {
    bool written = true;           ///< false: the model alone is saved
    std::int64_t every_steps = 0;  ///< steps between them; 0: other things decide
    double every_seconds = 0;      ///< seconds between them; 0: other things decide
    std::int64_t keep = 1;         ///< the latest so many, for going on
    bool best = false;             ///< and the best by its validation loss, its model in out/best
    double rewind_budget = 4e8;    ///< bytes for others, from which steps are taken again
};

/// The steps of another run that this one goes on from (begin_run.h).
struct EarlierRun {
    std::int64_t step = 0;                ///< the last of them
    RunState state = {};                  ///< with a segment for what follows
    std::string lines = {};               ///< of metrics.jsonl
    std::vector<StepMetrics> steps = {};  ///< what these say
};

struct TrainingRunOptions {
    std::filesystem::path out = {};  ///< for model, tokenizer, metrics.jsonl and report.html
    bool report = true;              ///< write report.html
    bool trap_nan = false;           ///< record a step that diverges in out/trap
    std::int64_t hash_every = 0;     ///< steps between checksums of all gradients; 0: none
    std::optional<EarlierRun> earlier = {};  ///< not for a run that is resumed
    /// If none of its intervals is set: at every evaluation. And one at the end.
    CheckpointOptions checkpoints = {};
    TrainingRecipe recipe = {};  ///< what the report says of how to do it again
    /// Called after each step; false ends the training, which is then saved. May be empty.
    std::function<bool(const StepMetrics&, const Speed&)> stepped = {};
    /// Told, once each, if the report or a checkpoint cannot be written; the training goes on. May
    /// be empty.
    std::function<void(const std::string&)> warn = {};
    /// Asked when the last checkpoint cannot be written, with the reason: whether to try again,
    /// when it has waited as long as it likes. Empty: no.
    std::function<bool(const SaveProblem&)> retry = {};
};

struct TrainingResult {
    StepMetrics last;                ///< step
    std::optional<double> val_loss;  ///< the latest that was taken
    double tokens_per_second = 0;    ///< evaluations included
    double of_peak = 0;              ///< of the machine's peak, evaluations excluded
    bool interrupted = false;        ///< `stepped` ended it
    std::string plan = {};           ///< plan_text(), if steps were planned
    std::string report = {};         ///< where the report is and what it took; empty: none
    std::string concern = {};        ///< LossWatch::concern()
};

class TrainingRun {
public:
    /// Throws IoError if the model could not be saved there, ValueError for a session without steps
    /// to take; what is there already stays until the first save. The session must outlive the run.
    TrainingRun(Session& session, const TrainingRunOptions& options);
    /// In a directory that is locked already, and may be the one that the session was resumed from;
    /// options.out is not looked at.
    TrainingRun(Session& session, const RunDirectory& directory, TrainingRunOptions options);
    ~TrainingRun();
    TrainingRun(const TrainingRun&) = delete;
    TrainingRun& operator=(const TrainingRun&) = delete;

    /// Takes the steps that are left and saves what was learned. Throws DivergedError for a step
    /// or weights that are not finite, of which nothing is saved; IoError if the last checkpoint
    /// cannot be written.
    TrainingResult to_the_end();

    const CheckpointWriter& checkpoints() const;
    /// Waits until the one that is being written is there.
    void wait_for_checkpoint();

private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace tapestry
