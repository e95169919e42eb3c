// What is known of a training step when it is over: what a loop reports, and what a report shows.
// Read next: nn/train/loop.h, which fills it in; nn/pages/report.h, which draws it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace tapestry {

/// What one step did.
struct StepMetrics {
    std::int64_t step = 0;                ///< 1 after the first
    double loss = 0;                      ///< mean over the step's batches, before the update
    std::optional<double> val_loss = {};  ///< after the update, where evaluated
    double lr = 0;
    double grad_norm = 0;     ///< before clipping
    double seconds = 0;       ///< since the loop began, evaluations included
    double step_seconds = 0;  ///< of this step, evaluation and other callbacks excluded
    /// Checksum of the gradients before clipping (checksum_of_gradients); empty: not taken.
    std::string grad_xxh3 = {};
};

}  // namespace tapestry
