// Where a training begins that `tapestry train` is asked for: at its first step, where it was
// interrupted, or at a step of another.
#pragma once

#include <tapestry/examples/cli/run_training.h>

#include <memory>
#include <optional>

namespace tapestry::cli {

struct BegunRun {
    std::unique_ptr<RunDirectory> directory;
    std::unique_ptr<Session> session;
    std::optional<EarlierRun> earlier = {};  ///< of a fork
};

/// Says where, unless that is the beginning as always. What cannot be trained leaves no directory
/// behind.
BegunRun begin_run(const TrainSettings& settings, const TextCache* cache);

}  // namespace tapestry::cli
