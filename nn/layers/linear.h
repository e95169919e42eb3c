// y = x W^T + b
#pragma once

#include <tapestry/core/random.h>
#include <tapestry/nn/module/module.h>
#include <tapestry/ops/int8_rows.h>

#include <memory>

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

    /// From now on the weight is one of int8 (ops/int8_rows.h): `weight` is undefined, and no
    /// parameter any more. No way back, and no gradient. Throws as int8_rows does.
    void keep_int8();

private:
    std::shared_ptr<const Int8Rows> int8_;  // null: there is a weight
};

}  // namespace tapestry
