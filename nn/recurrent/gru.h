// Two gates and no separate cell: lighter than an LSTM, and mostly as good.
#pragma once

#include <tapestry/nn/recurrent/recurrent.h>

namespace tapestry {

/// With x' = W_ih x_t + b_ih and h' = W_hh h_{t-1} + b_hh, each cut into three parts of H in the
/// order r, z, n,
///     r = sigmoid(x'_r + h'_r),  z = sigmoid(x'_z + h'_z),  n = tanh(x'_n + r * h'_n),
///     h_t = (1 - z) * n + z * h_{t-1}.
/// As in PyTorch, r multiplies the product with W_hn, bias included, not h_{t-1} itself. Shapes and
/// errors: Recurrent. Source: Cho et al. 2014, "Learning Phrase Representations using RNN
/// Encoder-Decoder".
class GRU : public Recurrent {
public:
    explicit GRU(const RecurrentConfig& config, Generator& generator = default_generator());

protected:
    RecurrentState step(const Tensor& x, const RecurrentState& state,
                        const RecurrentWeights& w) const override;
};

}  // namespace tapestry
