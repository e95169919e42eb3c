// The simplest network with a memory.
#pragma once

#include <tapestry/nn/recurrent/recurrent.h>

namespace tapestry {

enum class RNNActivation { tanh, relu };

/// h_t = tanh(W_ih x_t + b_ih + W_hh h_{t-1} + b_hh), or relu. Shapes and errors: Recurrent.
/// Source: Elman 1990, "Finding Structure in Time"; in PyTorch's form.
class RNN : public Recurrent {
public:
    explicit RNN(const RecurrentConfig& config, RNNActivation activation = RNNActivation::tanh,
                 Generator& generator = default_generator());

protected:
    RecurrentState step(const Tensor& x, const RecurrentState& state,
                        const RecurrentWeights& w) const override;

private:
    RNNActivation activation_;
};

}  // namespace tapestry
