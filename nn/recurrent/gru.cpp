#include <tapestry/nn/recurrent/gru.h>

#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/elementwise.h>
#include <tapestry/ops/join.h>
#include <tapestry/ops/matmul.h>

namespace tapestry {

GRU::GRU(const RecurrentConfig& config, Generator& generator)
    : Recurrent("GRU", 3, config, generator) {}

RecurrentState GRU::step(const Tensor& x, const RecurrentState& state,
                         const RecurrentWeights& w) const {
    const Tensors xs = split(x, config().hidden, -1);  // three times [B, H]
    const Tensors hs = split(linear(state.h, w.weight_hh, w.bias_hh), config().hidden, -1);
    const Tensor r = sigmoid(xs[0] + hs[0]), z = sigmoid(xs[1] + hs[1]);
    const Tensor n = tanh(xs[2] + r * hs[2]);
    return {.h = n + z * (state.h - n)};  // (1 - z) n + z h
}

}  // namespace tapestry
