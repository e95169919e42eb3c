// What `tapestry train` does once its options are read: a training in a directory, anew or where it
// was left, and what is said of it. The work is nn/train/training_run.h's.
#pragma once

#include <tapestry/nn/train/training_run.h>

#include <string>
#include <vector>

namespace tapestry::cli {

struct TrainSettings {
    TrainingConfig config;
    std::vector<std::string> given;  ///< fields of the configuration that the command line sets
    std::string out;
    bool resume = false;
    std::vector<std::string> overrides;
    std::string fork;  ///< the directory of another run, to go on from
    std::int64_t step = 0;
    std::int64_t hash_every = 0;
    std::string interval;  ///< --checkpoint-every, as written
    CheckpointOptions checkpoints;
    double rewind_megabytes = 400;
    int threads = 1;
    bool show_samples = false;
    bool trap_nan = false;
    bool no_report = false;
    bool no_cache = false;
};

/// Returns the exit code.
int run_training(const TrainSettings& settings, const TrainingRecipe& recipe);

}  // namespace tapestry::cli
