#include <tapestry/nn/layers/norm.h>

#include <tapestry/core/create.h>
#include <tapestry/nn/layers/beside.h>
#include <tapestry/ops/norm.h>

namespace tapestry {

LayerNorm::LayerNorm(std::int64_t dim, double eps, bool with_bias)
    : Module("LayerNorm"), eps_(eps) {
    require(dim > 0, "LayerNorm: size {} is not positive", dim);
    weight = ones({dim});
    if (with_bias) bias = zeros({dim});
    register_parameter("weight", weight);
    register_parameter("bias", bias);
}

Tensor LayerNorm::operator()(const Tensor& x) const {
    const ModuleScope scope(name());
    return hooked(layer_norm(x, beside(x, weight), beside(x, bias), eps_), x);
}

std::string LayerNorm::settings() const { return fmt::format("{}", weight.size(0)); }

RMSNorm::RMSNorm(std::int64_t dim, double eps) : Module("RMSNorm"), eps_(eps) {
    require(dim > 0, "RMSNorm: size {} is not positive", dim);
    weight = ones({dim});
    register_parameter("weight", weight);
}

Tensor RMSNorm::operator()(const Tensor& x) const {
    const ModuleScope scope(name());
    return hooked(rms_norm(x, beside(x, weight), eps_), x);
}

std::string RMSNorm::settings() const { return fmt::format("{}", weight.size(0)); }

}  // namespace tapestry
