// How a run went until a checkpoint: what that one knows besides the training itself, so that the
// next part of the run goes on with its metrics, its clock and its best model as well.
// Read next: training_run.h, whose state it is.
#pragma once

#include <tapestry/core/checksum.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tapestry {

/// Steps that were taken under one configuration. A run has one, and another for each time that it
/// was resumed with something that differed.
struct RunSegment {
    std::int64_t first_step = 1;
    std::string config = {};                  ///< TrainingConfig, as JSON
    std::vector<std::string> overrides = {};  ///< names of what differed: "lr", "isa"
};

/// The lowest validation loss so far.
struct BestLoss {
    std::int64_t step = 0;
    double val_loss = 0;
};

struct RunState {
    std::vector<RunSegment> segments = {};
    double seconds = 0;       ///< that the run took, of all its parts together
    FileDigest metrics = {};  ///< of metrics.jsonl, as far as it had been written
    std::optional<BestLoss> best = {};
    std::int64_t rewind_every = 0;  ///< steps between the states that are kept; 0: not known yet
};

std::string to_json(const RunState& state);

/// The reverse. Throws IoError in the name of `what`, the checkpoint.
RunState run_state_from_json(std::string_view json, std::string_view what);

}  // namespace tapestry
