// Where a training in a directory begins: at its first step, where it was interrupted, or at a step
// of another; in one process or in several.
//
//     BegunRun begun = begin_run({.config = {.text = "input.txt"}, .out = "model"});
//     TrainingRun run(*begun.session, *begun.directory, {.earlier = begun.earlier});
//
// Read next: run_directory.h, to go on in one.
#pragma once

#include <tapestry/nn/distributed/communicator.h>
#include <tapestry/nn/train/run_directory.h>
#include <tapestry/nn/train/training_run.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tapestry {

class Rewinder;

/// What is asked for. At most one of `resume` and `fork`.
struct RunRequest {
    TrainingConfig config = {};
    std::vector<std::string> given = {};      ///< fields of it that somebody set; others may change
    std::string out = {};                     ///< the directory
    bool resume = false;                      ///< go on there after the latest checkpoint, if any
    std::vector<std::string> overrides = {};  ///< with resume: ResumeOptions::overrides
    std::string fork = {};                    ///< the directory of another run, to go on from
    std::int64_t step = 0;                    ///< with fork: after which of its steps
    bool overwrite = false;                   ///< a new run may replace what is in `out`
};

struct BegunRun {
    std::unique_ptr<RunDirectory> directory;
    std::unique_ptr<Session> session;
    std::optional<EarlierRun> earlier = {};  ///< of a fork
};

/// `told` hears in a line where it begins, unless that is the beginning as always, and what differs
/// from before; it may be empty. What cannot be trained leaves no directory behind. Throws
/// ValueError for a fork into the directory that it comes from, and if there is neither a
/// checkpoint nor a text; IoError if a new run would replace a run or a model without `overwrite`,
/// or a model in Hugging Face's format; as Session, RunDirectory and fork_after do.
BegunRun begin_run(const RunRequest& request, const TextCache* cache = nullptr,
                   const std::function<void(const std::string&)>& told = {});

// ---- from a step of another ---------------------------------------------------------------------

// A run that goes on differently from one of its steps, in a directory of its own:
//
//     const RunHistory history("model");
//     Fork fork = fork_after(history, Rewinder(history), 250,
//                            {.wanted = {.lr = 3e-4}, .given = {"lr"}});
//     TrainingRun run(*fork.session, {.out = "slower", .earlier = fork.earlier});

struct Fork {
    std::unique_ptr<Session> session;  ///< having taken the steps up to the fork
    EarlierRun earlier;                ///< for TrainingRunOptions
    std::vector<std::string> changed;  ///< fields that are not what they were
};

/// After step 0 .. history.last_step(). Of `changes`, the fields that are given count, and need no
/// override. Throws ValueError for another step, and where no step is left to take; IoError for
/// another shape of the model; and as Rewinder does.
Fork fork_after(const RunHistory& history, const Rewinder& rewinder, std::int64_t step,
                ResumeOptions changes, const TextCache* cache = nullptr);

// ---- in several processes -----------------------------------------------------------------------

// What the processes have to agree on before the first step, and who tells whom. Process 0 has the
// directory, and begins as one process does; the others need the data alone, from a disk of their
// own or a shared one.
//
//     BegunRun begun = begin_shared_run(*processes, request);
//     processes->rank() == 0 ? TrainingRun(*begun.session, *begun.directory, {}).to_the_end()
//                            : begun.session->follow();
//
// Read next: docs/distributed.md; session.h, share_among().

/// What cannot be, and why; all processes throw it at the same moment, with the same message.
class AgreedError : public ValueError {
public:
    using ValueError::ValueError;
};

/// As begin_run(), in all of the processes; the directory is process 0's alone. Throws AgreedError
/// for whatever any of them would throw; for processes that differ in version, instruction set
/// (unless `overrides` has "isa"), configuration or data, with both values; and for more processes
/// than micro-batches.
BegunRun begin_shared_run(Communicator& communicator, const RunRequest& request,
                          const TextCache* cache = nullptr,
                          const std::function<void(const std::string&)>& told = {});

/// Session::accounts(), in a line each.
std::string processes_text(const std::vector<ProcessAccount>& processes);

}  // namespace tapestry
