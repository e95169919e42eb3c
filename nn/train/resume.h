// Permitted differences when a run is resumed. The configuration is the checkpoint's. An option
// that contradicts it is an error unless --override names it; so are another instruction set,
// another version of Tapestry and another text, because any of these changes the steps that follow.
// Read next: session.h, which continues.
#pragma once

#include <tapestry/nn/io/checkpoint.h>
#include <tapestry/nn/train/checkpoints.h>
#include <tapestry/nn/train/training_config.h>

#include <string>
#include <vector>

namespace tapestry {

/// What the user asks for when a run is resumed.
struct ResumeOptions {
    /// Only the fields named in `given` count: "lr", "layers", as in the fields' lists.
    TrainingConfig wanted = {};
    std::vector<std::string> given = {};  ///< names of fields
    /// Permitted differences: field names, or "isa", "version", "data".
    std::vector<std::string> overrides = {};
};

/// The configuration to continue with.
struct ResumedConfig {
    TrainingConfig config;                     ///< with the permitted differences applied
    std::vector<std::string> overridden = {};  ///< overrides that made a difference
};

/// Throws ValueError if an override has an unknown name, for another optimiser or options that the
/// run's does not have, or if anything differs without being overridden, with both values. `name`
/// is the checkpoint's, for messages. A text under another name is not a difference: its contents
/// count.
ResumedConfig resumed_config(const CheckpointInfo& info, const std::string& name,
                             const ResumeOptions& options);

/// Throws ValueError if `next`, which continues the run after the checkpoint's step, has a time
/// limit that leaves no time for steps: less than the run has taken, or the same and the run had
/// ended because of it.
void check_time_left(const CheckpointInfo& info, const RunState& run, const TrainingConfig& next,
                     const std::string& name);

/// Throws ValueError unless the data's checksums are equal or the overrides contain "data", which
/// is then added to `overridden`.
void check_same_data(const CheckpointInfo& info, const std::string& name, const std::string& data,
                     const ResumeOptions& options, std::vector<std::string>& overridden);

}  // namespace tapestry
