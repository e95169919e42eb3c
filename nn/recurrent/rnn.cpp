#include <tapestry/nn/recurrent/rnn.h>

#include <tapestry/ops/activation.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/elementwise.h>
#include <tapestry/ops/matmul.h>

namespace tapestry {

RNN::RNN(const RecurrentConfig& config, RNNActivation activation, Generator& generator)
    : Recurrent("RNN", 1, config, generator), activation_(activation) {}

RecurrentState RNN::step(const Tensor& x, const RecurrentState& state,
                         const RecurrentWeights& w) const {
    const Tensor sum = x + linear(state.h, w.weight_hh, w.bias_hh);  // [B, H]
    return {.h = activation_ == RNNActivation::relu ? relu(sum) : tanh(sum)};
}

}  // namespace tapestry
