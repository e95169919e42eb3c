// RNN, GRU and LSTM. They share stacked layers, forward or bidirectional, over sequences of
// different lengths. They differ in one step, a function of the input at time t and the state after
// time t - 1.
//
// Parameters have PyTorch's names: weight_ih_l0, weight_hh_l0, bias_ih_l0, bias_hh_l0, and so on
// for each layer, with "_reverse" for the backward direction.
#pragma once

#include <tapestry/nn/layers/dropout.h>

#include <memory>
#include <string_view>
#include <vector>

namespace tapestry {

/// The configuration of an RNN, GRU or LSTM.
struct RecurrentConfig {
    std::int64_t input = 0;      ///< I, size of the input vectors
    std::int64_t hidden = 0;     ///< H, size of the state
    std::int64_t layers = 1;     ///< number of layers
    bool bidirectional = false;  ///< D = 2: also reads the sequence backwards
    double dropout = 0;          ///< between layers, in training
    bool bias = true;            ///< whether there are biases
};

/// The recurrent state: h, and the LSTM's cell c (undefined in the others). [B, H] in one layer;
/// [layers D, B, H] for a whole module with D directions per layer, forward first.
struct RecurrentState {
    Tensor h = {};  ///< hidden state
    Tensor c = {};  ///< the LSTM's cell
};

/// Optional inputs of Recurrent.
struct RecurrentInputs {
    RecurrentState state = {};  ///< before the first step; zeros if undefined
    Tensor lengths = {};        ///< i64 [B]: length of each sequence; all T if undefined
};

/// Results of Recurrent.
struct RecurrentOutput {
    Tensor output;         ///< [B, T, D H]: the last layer's h at every step, forward | backward
    RecurrentState state;  ///< after the last step
};

/// Weights of one layer in one direction. G gates: 1 in an RNN, 3 in a GRU, 4 in an LSTM.
struct RecurrentWeights {
    Tensor weight_ih;  ///< [G H, I]; in later layers [G H, D H]
    Tensor weight_hh;  ///< [G H, H]
    Tensor bias_ih;    ///< [G H], undefined if there is none
    Tensor bias_hh;    ///< [G H]
};

/// x [B, T, I] -> [B, T, D H] and the final state. All weights are initially uniform in
/// +-1/sqrt(H), as PyTorch's.
///
/// With `lengths`, each sequence gives the same result as on its own (PyTorch's
/// pack_padded_sequence): past its end its state stays unchanged and its output is 0, and the
/// backward direction begins at its own last step. x past the end is ignored.
///
/// One product with weight_ih covers all steps; those with weight_hh are T successive ones.
///
/// Throws ShapeError for x that is not [B, T, I] or is empty, and for a state of another shape;
/// DTypeError; ValueError for a length outside 1 .. T.
class Recurrent : public Module {
public:
    std::vector<RecurrentWeights> weights;  ///< [layers D]: layer by layer, forward first

    /// x [B, T, I] -> output [B, T, D H] and the last state.
    RecurrentOutput operator()(const Tensor& x, const RecurrentInputs& inputs = {}) const;

    const RecurrentConfig& config() const { return config_; }  ///< as given
    /// D: 2 if bidirectional, else 1.
    std::int64_t directions() const { return config_.bidirectional ? 2 : 1; }
    /// Whether the state has a c.
    virtual bool has_cell() const { return false; }
    std::string settings() const override;

protected:
    /// Throws ValueError for sizes that are not positive and a dropout outside [0, 1].
    Recurrent(std::string kind, std::int64_t gates, const RecurrentConfig& config,
              Generator& generator);

    /// The state after one step: `x` [B, G H] is W_ih x_t + b_ih, `state` [B, H].
    virtual RecurrentState step(const Tensor& x, const RecurrentState& state,
                                const RecurrentWeights& w) const = 0;

private:
    struct Padding;
    void check(const Tensor& x, const RecurrentInputs& inputs) const;
    std::vector<RecurrentState> initial_states(const Tensor& x, const RecurrentState& given) const;
    Tensor run(const Tensor& rows, std::int64_t batch, std::size_t index, const Padding& padding,
               RecurrentState& state) const;

    RecurrentConfig config_;
    Dropout dropout_;
};

/// The lengths of sequences padded to the longest in one batch. As a mask: length_mask in
/// nn/attention/masks.h.
///
/// Returns the values of `lengths` after checking them, with `owner` in error messages: i64 [batch]
/// (DTypeError, ShapeError), each from 1 to `steps` (ValueError, with position and value).
std::vector<std::int64_t> checked_lengths(std::string_view owner, const Tensor& lengths,
                                          std::int64_t batch, std::int64_t steps);

// ---- the three cells ----------------------------------------------------------------------------

/// The activation of an RNN.
enum class RNNActivation {
    tanh,  ///< the hyperbolic tangent
    relu   ///< max(x, 0)
};

/// The simplest network with a memory:
///     h_t = tanh(W_ih x_t + b_ih + W_hh h_{t-1} + b_hh), or relu.
/// Shapes and errors: Recurrent.
/// Source: Elman 1990, "Finding Structure in Time"; in PyTorch's form.
class RNN : public Recurrent {
public:
    /// Throws ValueError for sizes that are not positive, and as Dropout does.
    explicit RNN(const RecurrentConfig& config, RNNActivation activation = RNNActivation::tanh,
                 Generator& generator = default_generator());

protected:
    RecurrentState step(const Tensor& x, const RecurrentState& state,
                        const RecurrentWeights& w) const override;

private:
    RNNActivation activation_;
};

/// Two gates and no separate cell: lighter than an LSTM, and usually as good.
///
/// With x' = W_ih x_t + b_ih and h' = W_hh h_{t-1} + b_hh, each cut into three parts of H in the
/// order r, z, n,
///     r = sigmoid(x'_r + h'_r),  z = sigmoid(x'_z + h'_z),  n = tanh(x'_n + r * h'_n),
///     h_t = (1 - z) * n + z * h_{t-1}.
/// As in PyTorch, r multiplies the product with W_hn, bias included, not h_{t-1} itself. Shapes and
/// errors: Recurrent. Source: Cho et al. 2014, "Learning Phrase Representations using RNN
/// Encoder-Decoder".
class GRU : public Recurrent {
public:
    /// Throws as RNN does.
    explicit GRU(const RecurrentConfig& config, Generator& generator = default_generator());

protected:
    RecurrentState step(const Tensor& x, const RecurrentState& state,
                        const RecurrentWeights& w) const override;
};

/// A memory cell with three gates: input, forget and output.
///
/// With a = W_ih x_t + b_ih + W_hh h_{t-1} + b_hh, cut into four parts of H in this order,
///     i = sigmoid(a_i),  f = sigmoid(a_f),  g = tanh(a_g),  o = sigmoid(a_o),
///     c_t = f * c_{t-1} + i * g,   h_t = o * tanh(c_t).
/// Along c the gradient passes only through products with f, which is why it persists. Shapes
/// and errors: Recurrent. Sources: Hochreiter and Schmidhuber 1997, "Long Short-Term Memory"; the
/// forget gate: Gers et al. 2000, "Learning to Forget"; in PyTorch's form.
class LSTM : public Recurrent {
public:
    /// Throws as RNN does.
    explicit LSTM(const RecurrentConfig& config, Generator& generator = default_generator());
    bool has_cell() const override { return true; }

protected:
    RecurrentState step(const Tensor& x, const RecurrentState& state,
                        const RecurrentWeights& w) const override;
};

/// The kinds of recurrent network.
enum class RecurrentCell {
    rnn,  ///< RNN
    gru,  ///< GRU
    lstm  ///< LSTM
};

/// An RNN (with tanh), GRU or LSTM, chosen at run time.
std::unique_ptr<Recurrent> make_recurrent(RecurrentCell cell, const RecurrentConfig& config,
                                          Generator& generator = default_generator());

}  // namespace tapestry
