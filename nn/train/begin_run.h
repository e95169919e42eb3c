// Starts a training run in a directory: from scratch, from its latest checkpoint, or from a step of
// another run; in one process or several.
//
//     BegunRun begun = begin_run({.config = {.text = "input.txt"}, .out = "model"});
//     TrainingRun run(*begun.session, *begun.directory, {.earlier = begun.earlier});
//
// Read next: run_directory.h, to resume one.
#pragma once

#include <tapestry/nn/distributed/communicator.h>
#include <tapestry/nn/train/run_directory.h>
#include <tapestry/nn/train/shared_session.h>
#include <tapestry/nn/train/training_run.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tapestry {

class Replayer;

/// The run to start. Set at most one of `resume` and `fork`.
struct RunRequest {
    TrainingConfig config = {};           ///< of the run
    std::vector<std::string> given = {};  ///< fields that the user set; others may change
    std::string out = {};                 ///< the run's directory
    bool resume = false;                  ///< resume from the latest checkpoint in `out`, if any
    std::vector<std::string> overrides = {};  ///< with resume: ResumeOptions::overrides
    std::string fork = {};                    ///< directory of another run to continue from
    std::int64_t step = 0;                    ///< with fork: the step of that run to continue after
    bool overwrite = false;                   ///< a new run may replace what is in `out`
};

/// A run that has begun.
struct BegunRun {
    std::unique_ptr<RunDirectory> directory;     ///< locked
    std::unique_ptr<Session> session;            ///< about to take its next step
    std::optional<ParentRun> earlier = {};       ///< set for a fork
    std::unique_ptr<SharedSession> shared = {};  ///< set by begin_shared_run()
};

/// Starts the run. Calls `told`, which may be empty, with one line saying where it starts (unless
/// from scratch) and one for each setting that differs from before. A request that fails creates no
/// directory. Throws ValueError for a fork into its own directory and if there is neither a
/// checkpoint nor a text; IoError if a new run would replace a run or a model without `overwrite`,
/// or a model in Hugging Face's format; also as Session, RunDirectory and fork_after do.
BegunRun begin_run(const RunRequest& request, const TextCache* cache = nullptr,
                   const std::function<void(const std::string&)>& told = {});

// ---- from a step of another ---------------------------------------------------------------------

// Continues a run from one of its steps with other settings, in its own directory:
//
//     const RunHistory history("model");
//     Fork fork = fork_after(history, Replayer(history), 250,
//                            {.wanted = {.lr = 3e-4}, .given = {"lr"}});
//     TrainingRun run(*fork.session, {.out = "slower", .earlier = fork.earlier});

/// A run that continues from a step of another.
struct Fork {
    std::unique_ptr<Session> session;  ///< after the steps up to the fork
    ParentRun earlier;                 ///< for TrainingRunOptions
    std::vector<std::string> changed;  ///< fields that differ from the original run
};

/// Forks after step `step`, 0 to history.last_step(). In `changes` only the given fields count;
/// they need no override. Throws ValueError for any other step and if no steps are left to take;
/// IoError if the model's shape differs; and as Replayer does.
Fork fork_after(const RunHistory& history, const Replayer& replayer, std::int64_t step,
                ResumeOptions changes, const TextCache* cache = nullptr);

// ---- in several processes -----------------------------------------------------------------------

// Agreement between the processes before the first step. Process 0 owns the directory and starts as
// a single process does; the others only need the data, on a local or a shared disk.
//
//     BegunRun begun = begin_shared_run(*processes, request);
//     processes->rank() == 0 ? TrainingRun(*begun.session, *begun.directory, {}).to_the_end()
//                            : begun.shared->follow();
//
// Read next: docs/distributed.md; shared_session.h.

/// A failure on any process, thrown on all of them with the same message.
class AgreedError : public ValueError {
public:
    using ValueError::ValueError;
};

/// As begin_run(), called on every process; only process 0 uses the directory. Throws AgreedError
/// for any error on any process; for processes that differ in version, instruction set (unless
/// `overrides` has "isa"), configuration or data, with both values; and for more processes than
/// micro-batches.
BegunRun begin_shared_run(Communicator& communicator, const RunRequest& request,
                          const TextCache* cache = nullptr,
                          const std::function<void(const std::string&)>& told = {});

/// Session::accounts() as text, one line each; `unit` is the task's (Task::unit).
std::string processes_text(const std::vector<ProcessAccount>& processes, std::string_view unit);

}  // namespace tapestry
