// Where a training in a directory begins: at its first step, where it was interrupted, or at a step
// of another.
//
//     BegunRun begun = begin_run({.config = {.text = "input.txt"}, .out = "model", .resume =
//     true}); TrainingRun run(*begun.session, *begun.directory, {.earlier = begun.earlier});
//
// Read next: run_directory.h, to go on in one; fork.h, from a step of another.
#pragma once

#include <tapestry/nn/train/run_directory.h>
#include <tapestry/nn/train/training_run.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tapestry {

/// What is asked for. At most one of `resume` and `fork`.
struct RunRequest {
    TrainingConfig config = {};
    std::vector<std::string> given = {};      ///< fields of it that somebody set; others may change
    std::string out = {};                     ///< the directory
    bool resume = false;                      ///< go on there after the latest checkpoint, if any
    std::vector<std::string> overrides = {};  ///< with resume: ResumeOptions::overrides
    std::string fork = {};                    ///< the directory of another run, to go on from
    std::int64_t step = 0;                    ///< with fork: after which of its steps
};

struct BegunRun {
    std::unique_ptr<RunDirectory> directory;
    std::unique_ptr<Session> session;
    std::optional<EarlierRun> earlier = {};  ///< of a fork
};

/// `told` hears in a line where it begins, unless that is the beginning as always, and what differs
/// from before; it may be empty. What cannot be trained leaves no directory behind. Throws
/// ValueError for a fork into the directory that it comes from, and if there is neither a
/// checkpoint nor a text; as Session, RunDirectory and fork_after do.
BegunRun begin_run(const RunRequest& request, const TextCache* cache = nullptr,
                   const std::function<void(const std::string&)>& told = {});

}  // namespace tapestry
