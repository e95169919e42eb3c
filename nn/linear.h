// y = x W^T + b
#pragma once

#include <tapestry/core/random.h>
#include <tapestry/nn/module.h>

namespace tapestry {

/// x [..., in] -> [..., out], with weight [out, in] and bias [out], both uniform in
/// +-1/sqrt(in) at the start, as PyTorch's.
class Linear : public Module {
public:
    Tensor weight;  // [out, in]
    Tensor bias;    // [out], undefined if there is none

    /// Throws ValueError unless both sizes are positive.
    Linear(std::int64_t in, std::int64_t out, bool with_bias = true,
           Generator& generator = default_generator());

    Linear(std::int64_t in, std::int64_t out, Generator& generator)
        : Linear(in, out, true, generator) {}

    Tensor operator()(const Tensor& x) const;
    std::string settings() const override;
};

}  // namespace tapestry
