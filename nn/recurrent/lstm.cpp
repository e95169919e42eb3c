#include <tapestry/nn/recurrent/lstm.h>

#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/elementwise.h>
#include <tapestry/ops/join.h>
#include <tapestry/ops/matmul.h>

namespace tapestry {

LSTM::LSTM(const RecurrentConfig& config, Generator& generator)
    : Recurrent("LSTM", 4, config, generator) {}

RecurrentState LSTM::step(const Tensor& x, const RecurrentState& state,
                          const RecurrentWeights& w) const {
    const Tensor a = x + linear(state.h, w.weight_hh, w.bias_hh);  // [B, 4 H]
    const Tensors parts = split(a, config().hidden, -1);
    const Tensor i = sigmoid(parts[0]), f = sigmoid(parts[1]);
    const Tensor g = tanh(parts[2]), o = sigmoid(parts[3]);
    const Tensor c = f * state.c + i * g;  // [B, H]
    return {.h = o * tanh(c), .c = c};
}

}  // namespace tapestry
