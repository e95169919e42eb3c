// In training, zeroes each element with probability p and scales the others by 1 / (1 - p), which
// preserves the expectation; in evaluation, returns x. Source: Srivastava et al. 2014, "Dropout".
#pragma once

#include <tapestry/core/random.h>
#include <tapestry/nn/module/module.h>

namespace tapestry {

/// Zeroes elements at random in training.
class Dropout : public Module {
public:
    /// Throws ValueError unless 0 <= p <= 1. The generator must outlive the module.
    explicit Dropout(double p, Generator& generator = default_generator());

    Tensor operator()(const Tensor& x) const;  ///< x of any shape and floating dtype -> the same
    std::string settings() const override;

private:
    double p_;
    Generator& generator_;
};

}  // namespace tapestry
