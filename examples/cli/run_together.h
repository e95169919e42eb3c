// What `tapestry train` does where mpirun has started several of it: process 0 trains as one
// process does, and the others follow it. The work is nn/train/shared_run.h's.
#pragma once

#include <tapestry/examples/cli/run_training.h>
#include <tapestry/nn/distributed/communicator.h>

namespace tapestry::cli {

/// `lead` is what process 0 does with its run. Returns this process's exit code.
int run_together(TrainSettings& settings, Communicator& processes, const TextCache* cache,
                 int (*lead)(TrainSettings&, BegunRun&));

}  // namespace tapestry::cli
