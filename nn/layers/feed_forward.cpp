#include <tapestry/nn/layers/feed_forward.h>

#include <tapestry/ops/activation.h>
#include <tapestry/ops/arithmetic.h>

namespace tapestry {
namespace {

std::int64_t hidden_size(const FeedForwardConfig& config) {
    return config.hidden == 0 ? 4 * config.dim : config.hidden;
}

Tensor activate(Activation activation, const Tensor& x) {
    switch (activation) {
        case Activation::relu: return relu(x);
        case Activation::relu_squared: return relu_squared(x);
        case Activation::gelu_tanh: return gelu(x, Gelu::tanh);
        case Activation::gelu_erf: return gelu(x, Gelu::erf);
        case Activation::silu:
        case Activation::swiglu: return silu(x);
    }
    fail("FeedForward: unknown activation");
}

}  // namespace

FeedForward::FeedForward(const FeedForwardConfig& config, Generator& generator)
    : Module("FeedForward"),
      up(config.dim, hidden_size(config), config.bias, generator),
      down(hidden_size(config), config.dim, config.bias, generator),
      activation_(config.activation) {
    register_module("up", up);
    if (activation_ == Activation::swiglu) {
        gate.emplace(config.dim, hidden_size(config), config.bias, generator);
        register_module("gate", *gate);
    }
    register_module("down", down);
}

Tensor FeedForward::operator()(const Tensor& x) const {
    const ModuleScope scope(name());
    const Tensor h = gate ? silu((*gate)(x)) * up(x) : activate(activation_, up(x));
    return hooked(down(h), x);  // [..., dim]
}

std::string FeedForward::settings() const { return name_of_value(activation_); }

}  // namespace tapestry
