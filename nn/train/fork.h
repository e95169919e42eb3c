// A run that goes on differently from one of its steps, in a directory of its own:
//
//     const RunHistory history("model");
//     Fork fork = fork_after(history, Rewinder(history), 250, {.wanted = {.lr = 3e-4}, .given =
//     {"lr"}}); TrainingRun run(*fork.session, {.out = "slower", .earlier = fork.earlier});
//
// Read next: training_run.h, whose EarlierRun it makes.
#pragma once

#include <tapestry/nn/train/rewind.h>
#include <tapestry/nn/train/training_run.h>

#include <memory>

namespace tapestry {

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

}  // namespace tapestry
