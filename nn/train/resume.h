// What may differ when a training goes on, and what must be said. Its configuration is that of the
// checkpoint. An option that says something else is an error, unless --override names it; so are
// another instruction set, another Tapestry, and another text, for with any of them the steps that
// follow are not those of a training that was never interrupted.
// Read next: session.h, which goes on.
#pragma once

#include <tapestry/nn/io/checkpoint.h>
#include <tapestry/nn/train/training_config.h>

#include <string>
#include <vector>

namespace tapestry {

struct ResumeOptions {
    /// Of these the fields that are `given` count: "lr", "layers", as in the fields' lists.
    TrainingConfig wanted = {};
    std::vector<std::string> given = {};
    /// What may differ: fields, or "isa", "version", "data".
    std::vector<std::string> overrides = {};
};

/// What a training goes on with.
struct ResumedConfig {
    TrainingConfig config;
    std::vector<std::string> overridden = {};  ///< the overrides that made a difference
};

/// Throws ValueError for overrides of unknown names, for another optimiser or options that the
/// run's does not have, and naming the first thing that differs and
/// may not, with both values. `name` is the checkpoint's. A text of another name is none of these:
/// its contents count.
ResumedConfig resumed_config(const CheckpointInfo& info, const std::string& name,
                             const ResumeOptions& options);

/// Throws ValueError unless the data's checksums are the same or "data" is among the overrides,
/// where it is added to `overridden`.
void check_same_data(const CheckpointInfo& info, const std::string& name, const std::string& data,
                     const ResumeOptions& options, std::vector<std::string>& overridden);

}  // namespace tapestry
