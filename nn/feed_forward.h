// The position-wise network of a Transformer block: each vector on its own, through a wider layer.
#pragma once

#include <tapestry/nn/linear.h>

namespace tapestry {

enum class Activation { relu, gelu_tanh, gelu_erf, silu };

struct FeedForwardConfig {
    std::int64_t dim = 0;
    std::int64_t hidden = 0;  ///< 4 dim if 0
    Activation activation = Activation::gelu_tanh;
    bool bias = true;
};

/// down(activation(up(x))), [..., dim] -> [..., hidden] -> [..., dim].
/// Source: Vaswani et al. 2017, section 3.3 (with relu); GPT-2 has gelu_tanh.
class FeedForward : public Module {
public:
    Linear up;    // [hidden, dim]
    Linear down;  // [dim, hidden]

    explicit FeedForward(const FeedForwardConfig& config,
                         Generator& generator = default_generator());
    Tensor operator()(const Tensor& x) const;

private:
    Activation activation_;
};

}  // namespace tapestry
