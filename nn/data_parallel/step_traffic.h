// What the messages of data-parallel steps took, and what of it lay behind backward passes. Read
// next: train_step.h, which tells it.
#pragma once

#include <vector>

namespace tapestry {

/// Seconds, in all steps.
struct StepTraffic {
    double gradients = 0;  ///< some were under way
    double waited = 0;     ///< of these: nothing else was done; the rest lay behind backward passes
    double parameters = 0;  ///< new ones going round, which is waited for
    /// Of the latest step, by bucket in the order in which they could set out: from then to the end
    /// of the backward pass.
    std::vector<double> to_go = {};
};

}  // namespace tapestry
