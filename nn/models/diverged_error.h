// The error of a run, or of a model, whose numbers are no longer finite. The command ends with 1
// for it, not with 2 as for bad input. Read next: nn/train/train_step.h.
#pragma once

#include <tapestry/core/error.h>

#include <cmath>
#include <vector>

namespace tapestry {

/// Thrown when a loss, its gradient or what a model computes is infinite or NaN.
class DivergedError : public Error {
public:
    using Error::Error;
};

/// `outputs` of a model. Throws DivergedError if one of them is infinite or NaN.
inline std::vector<double> finite_outputs(std::vector<double> outputs) {
    for (const double x : outputs) {
        require<DivergedError>(std::isfinite(x), "the model's outputs contain {}: it has diverged",
                               std::isnan(x) ? std::abs(x) : x);  // avoids "-nan"
    }
    return outputs;
}

}  // namespace tapestry
