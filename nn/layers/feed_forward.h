// The position-wise network of a Transformer block: maps each vector separately, through a wider
// layer.
#pragma once

#include <tapestry/nn/layers/linear.h>
#include <tapestry/nn/module/config_fields.h>

#include <optional>

namespace tapestry {

/// relu_squared is max(x, 0)^2; swiglu is silu(gate) * up, with a third matrix for the gate.
enum class Activation { relu, relu_squared, gelu_tanh, gelu_erf, silu, swiglu };

template <>
struct NamesOf<Activation> {
    static constexpr EnumNames<Activation, 6> list{{{Activation::relu, "relu"},
                                                    {Activation::relu_squared, "relu_squared"},
                                                    {Activation::gelu_tanh, "gelu_tanh"},
                                                    {Activation::gelu_erf, "gelu_erf"},
                                                    {Activation::silu, "silu"},
                                                    {Activation::swiglu, "swiglu"}}};
};

struct FeedForwardConfig {
    std::int64_t dim = 0;
    std::int64_t hidden = 0;  ///< 4 dim if 0
    Activation activation = Activation::gelu_tanh;
    bool bias = true;
};

/// down(activation(up(x))), [..., dim] -> [..., hidden] -> [..., dim]; with swiglu
/// down(silu(gate(x)) * up(x)). Sources: Vaswani et al. 2017, section 3.3 (with relu); GPT-2 uses
/// gelu_tanh; relu_squared: So et al. 2021, "Primer"; swiglu: Shazeer 2020, "GLU Variants Improve
/// Transformer", where hidden = 8/3 dim keeps the number of parameters.
class FeedForward : public Module {
public:
    Linear up;                   // [hidden, dim]
    std::optional<Linear> gate;  // [hidden, dim], with swiglu
    Linear down;                 // [dim, hidden]

    explicit FeedForward(const FeedForwardConfig& config,
                         Generator& generator = default_generator());
    Tensor operator()(const Tensor& x) const;
    std::string settings() const override;

private:
    Activation activation_;
};

}  // namespace tapestry
