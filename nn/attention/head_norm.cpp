#include <tapestry/nn/attention/head_norm.h>

#include <tapestry/core/create.h>
#include <tapestry/nn/layers/beside.h>
#include <tapestry/ops/norm.h>

namespace tapestry {

HeadNorm::HeadNorm(QKNorm kind, std::int64_t width, double eps, bool with_bias)
    : Module("HeadNorm"), kind_(kind), eps_(eps) {
    require(kind != QKNorm::none, "HeadNorm: none is no norm");
    require(width > 0, "HeadNorm: size {} is not positive", width);
    weight = ones({width});
    register_parameter("weight", weight);
    if (kind == QKNorm::rms || !with_bias) return;
    bias = zeros({width});
    register_parameter("bias", bias);
}

Tensor HeadNorm::operator()(const Tensor& x) const {
    const ModuleScope scope(name());
    const bool rms = kind_ == QKNorm::rms;
    const Tensor w = beside(x, weight);
    return hooked(rms ? rms_norm(x, w, eps_) : layer_norm(x, w, beside(x, bias), eps_), x);
}

std::string HeadNorm::settings() const {
    return fmt::format("{}, {}", name_of_value(kind_), weight.size(0));
}

}  // namespace tapestry
