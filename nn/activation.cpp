#include <tapestry/nn/activation.h>

#include <tapestry/ops/elementwise.h>

namespace tapestry {

Tensor ReLU::operator()(const Tensor& x) const {
    const ModuleScope scope(name());
    return relu(x);
}

Tensor GELU::operator()(const Tensor& x) const {
    const ModuleScope scope(name());
    return gelu(x, form_);
}

std::string GELU::settings() const { return form_ == Gelu::erf ? "erf" : "tanh"; }

Tensor SiLU::operator()(const Tensor& x) const {
    const ModuleScope scope(name());
    return silu(x);
}

Tensor Tanh::operator()(const Tensor& x) const {
    const ModuleScope scope(name());
    return tanh(x);
}

Tensor Sigmoid::operator()(const Tensor& x) const {
    const ModuleScope scope(name());
    return sigmoid(x);
}

}  // namespace tapestry
