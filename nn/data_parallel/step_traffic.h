// Time spent on messages of data-parallel steps, and how much of it overlapped with backward
// passes. Read next: train_step.h, which reports it.
#pragma once

#include <vector>

namespace tapestry {

/// Seconds, summed over all steps.
struct StepTraffic {
    double gradients = 0;   ///< gradients in flight
    double waited = 0;      ///< of these, spent blocked; the rest overlapped with backward passes
    double parameters = 0;  ///< all-gather of new parameters, not overlapped
    /// For the latest step, per bucket in the order of completion: time from then to the end of the
    /// backward pass.
    std::vector<double> to_go = {};
};

}  // namespace tapestry
