// A memory cell with three gates: what it takes in, what it forgets, what it shows.
#pragma once

#include <tapestry/nn/recurrent/recurrent.h>

namespace tapestry {

/// With a = W_ih x_t + b_ih + W_hh h_{t-1} + b_hh, cut into four parts of H in this order,
///     i = sigmoid(a_i),  f = sigmoid(a_f),  g = tanh(a_g),  o = sigmoid(a_o),
///     c_t = f * c_{t-1} + i * g,   h_t = o * tanh(c_t).
/// The gradient flows along c through nothing but products with f, which is why it lasts. Shapes
/// and errors: Recurrent. Sources: Hochreiter and Schmidhuber 1997, "Long Short-Term Memory"; the
/// forget gate: Gers et al. 2000, "Learning to Forget"; in PyTorch's form.
class LSTM : public Recurrent {
public:
    explicit LSTM(const RecurrentConfig& config, Generator& generator = default_generator());
    bool has_cell() const override { return true; }

protected:
    RecurrentState step(const Tensor& x, const RecurrentState& state,
                        const RecurrentWeights& w) const override;
};

}  // namespace tapestry
