// tapestry train, once the options are read: one process, or several under mpirun, trains to the
// end and says how it goes; the work is in nn/train/begin_run.h and training_run.h. Read next:
// train.cpp.
#pragma once

#include <tapestry/nn/train/begin_run.h>
#include <tapestry/nn/train/training_run.h>

#include <string>
#include <vector>

namespace tapestry::cli {

/// Longer than any wait, in seconds.
constexpr double kForever = 1e9;

/// What the options of `train` say.
struct TrainSettings {
    RunRequest run;
    TrainingRunOptions options;
    std::string kind = model_rows().front().name;
    std::vector<ModelConfig> models;  ///< of each kind, with the options that it declared first
    std::string pairs;
    std::string images, questions, table;
    std::string weights = "f32";
    std::string interval;  ///< --checkpoint-every, as written
    double rewind_megabytes = 0;
    int threads = 1;
    double timeout = 0;               ///< seconds before a silent process counts as lost
    double wait_for_disk = kForever;  ///< seconds at the end of the run
    bool plan = false;
    bool show_samples = false;
    bool no_report = false;
    bool no_cache = false;
    bool exportable = false;
};

/// Trains, and returns the exit code. Throws as begin_run() and TrainingRun do.
int run_training(TrainSettings s);

}  // namespace tapestry::cli
