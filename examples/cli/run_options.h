// A training's directory as `tapestry rewind` and `tapestry bisect` read it.
#pragma once

#include <tapestry/core/parallel.h>
#include <tapestry/examples/options/options.h>
#include <tapestry/nn/train/rewind.h>

#include <memory>
#include <string>

namespace tapestry::cli {

struct RunOptions {
    std::string directory;
    TrainingConfig place;  ///< of the data, if it was moved
    int threads = num_threads();
    bool no_cache = false;
};

/// Declares them: the directory, --text, --data, --threads, --no-cache.
void add_run_options(Options& options, RunOptions& run);

/// The run there, and how its steps are taken again. It says when that is going to take a while.
class RunReader {
public:
    explicit RunReader(const RunOptions& run);

    const RunHistory& history() const { return history_; }
    const Rewinder& rewinder() const { return rewinder_; }

private:
    std::unique_ptr<TextCache> cache_;
    RunHistory history_;
    Rewinder rewinder_;
};

/// "taking 250 steps from step 1000 on, which took 31 s", for RewindOptions::told; nothing of what
/// takes no longer than a few seconds.
void tell_wait(const RewindStart& start);

}  // namespace tapestry::cli
