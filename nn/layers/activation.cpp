#include <tapestry/nn/layers/activation.h>

#include <tapestry/ops/elementwise.h>

namespace tapestry {

Tensor ReLU::operator()(const Tensor& x) const {
    const ModuleScope scope(name());
    return hooked(relu(x), x);
}

Tensor LeakyReLU::operator()(const Tensor& x) const {
    const ModuleScope scope(name());
    return hooked(leaky_relu(x, slope_), x);
}

std::string LeakyReLU::settings() const { return fmt::format("slope {}", slope_); }

Tensor ELU::operator()(const Tensor& x) const {
    const ModuleScope scope(name());
    return hooked(elu(x, alpha_), x);
}

std::string ELU::settings() const { return fmt::format("alpha {}", alpha_); }

Tensor GELU::operator()(const Tensor& x) const {
    const ModuleScope scope(name());
    return hooked(gelu(x, form_), x);
}

std::string GELU::settings() const { return form_ == Gelu::erf ? "erf" : "tanh"; }

Tensor SiLU::operator()(const Tensor& x) const {
    const ModuleScope scope(name());
    return hooked(silu(x), x);
}

Tensor Tanh::operator()(const Tensor& x) const {
    const ModuleScope scope(name());
    return hooked(tanh(x), x);
}

Tensor Sigmoid::operator()(const Tensor& x) const {
    const ModuleScope scope(name());
    return hooked(sigmoid(x), x);
}

}  // namespace tapestry
