// The position-wise network of a Transformer block: maps each vector separately, through a wider
// layer.
#pragma once

#include <tapestry/nn/layers/linear.h>
#include <tapestry/nn/module/config_fields.h>

#include <optional>

namespace tapestry {

/// relu_squared is max(x, 0)^2; swiglu is silu(gate) * up, with a third matrix for the gate.
enum class Activation {
    relu,          ///< max(x, 0)
    relu_squared,  ///< max(x, 0)^2
    gelu_tanh,     ///< GELU, approximated by tanh
    gelu_erf,      ///< GELU, exact
    silu,          ///< x sigmoid(x)
    swiglu         ///< silu(gate) * up, with a third matrix
};

template <>
struct NamesOf<Activation> {
    static constexpr EnumNames<Activation, 6> list{{{Activation::relu, "relu"},
                                                    {Activation::relu_squared, "relu_squared"},
                                                    {Activation::gelu_tanh, "gelu_tanh"},
                                                    {Activation::gelu_erf, "gelu_erf"},
                                                    {Activation::silu, "silu"},
                                                    {Activation::swiglu, "swiglu"}}};
};

/// The configuration of a FeedForward.
struct FeedForwardConfig {
    std::int64_t dim = 0;                           ///< C, width of input and output
    std::int64_t hidden = 0;                        ///< 4 dim if 0
    Activation activation = Activation::gelu_tanh;  ///< between the layers
    bool bias = true;                               ///< whether the linear layers have biases
};

/// down(activation(up(x))), [..., dim] -> [..., hidden] -> [..., dim]; with swiglu
/// down(silu(gate(x)) * up(x)). Sources: Vaswani et al. 2017, section 3.3 (with relu); GPT-2 uses
/// gelu_tanh; relu_squared: So et al. 2021, "Primer"; swiglu: Shazeer 2020, "GLU Variants Improve
/// Transformer", where hidden = 8/3 dim keeps the number of parameters.
class FeedForward : public Module {
public:
    Linear up;                   ///< [hidden, dim]
    std::optional<Linear> gate;  ///< [hidden, dim], with swiglu
    Linear down;                 ///< [dim, hidden]

    /// Throws ValueError for sizes that are not positive.
    explicit FeedForward(const FeedForwardConfig& config,
                         Generator& generator = default_generator());
    Tensor operator()(const Tensor& x) const;  ///< x [..., dim] -> [..., dim]
    std::string settings() const override;

private:
    Activation activation_;
};

}  // namespace tapestry
