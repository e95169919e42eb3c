// What `tapestry train` does once its options are read. The work is nn/train/begin_run.h's and
// training_run.h's; here is what is said of it.
#pragma once

#include <tapestry/nn/train/begin_run.h>

#include <string>

namespace tapestry::cli {

struct TrainSettings {
    RunRequest run;
    TrainingRunOptions options;
    std::string weights = "f32";
    std::string interval;  ///< --checkpoint-every, as written
    double rewind_megabytes = 400;
    int threads = 1;
    double timeout = 0;  ///< seconds for a process that does not answer
    bool plan = false;
    bool show_samples = false;
    bool no_report = false;
    bool no_cache = false;
};

/// Returns the exit code.
int run_training(TrainSettings settings);

}  // namespace tapestry::cli
