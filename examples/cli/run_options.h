// A training's directory as `tapestry rewind` and `tapestry bisect` read it, and the cache of
// tokenized texts, which `train` reads as well.
#pragma once

#include <tapestry/core/parallel.h>
#include <tapestry/examples/options/options.h>
#include <tapestry/nn/train/rewind.h>

#include <memory>
#include <string>

namespace tapestry::cli {

/// --no-cache.
void add_no_cache(Options& options, bool& no_cache);

/// The user's. It says on stderr when nothing can be kept. Null with `no_cache`, and where the
/// environment names no place for it.
std::unique_ptr<TextCache> text_cache(bool no_cache);

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

}  // namespace tapestry::cli
