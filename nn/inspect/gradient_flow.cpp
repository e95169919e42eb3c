#include <tapestry/nn/inspect/gradient_flow.h>

#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/optimizer_step.h>

#include <cmath>
#include <limits>

namespace tapestry {
namespace {

double rms(const Tensor& x) {
    if (!x.defined() || x.numel() == 0) return 0;
    return std::sqrt(sum_of_squares({x}) / static_cast<double>(x.numel()));
}

}  // namespace

double ParameterFlow::ratio() const {
    return value_rms > 0 ? update_rms / value_rms : std::numeric_limits<double>::quiet_NaN();
}

GradientFlow::GradientFlow(const Module& model) : parameters_(model.named_parameters()) {}

void GradientFlow::before_update() {
    before_.clear();
    for (const auto& [name, parameter] : parameters_) before_.push_back(parameter.clone());
}

std::vector<ParameterFlow> GradientFlow::after_update() {
    require(before_.size() == parameters_.size(),
            "GradientFlow: after_update() without before_update()");
    std::vector<ParameterFlow> flow;
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
        const Tensor& parameter = parameters_[i].second;
        const Tensor gradient = parameter.requires_grad() ? parameter.grad() : Tensor();
        const Tensor update = parameter.detach() - before_[i];
        flow.push_back({.name = parameters_[i].first,
                        .shape = parameter.shape(),
                        .frozen = !parameter.requires_grad(),
                        .value_rms = rms(before_[i]),
                        .gradient_rms = rms(gradient),
                        .update_rms = rms(update),
                        .values = log2_histogram(before_[i]),
                        .gradients = log2_histogram(gradient),
                        .updates = log2_histogram(update)});
        before_[i] = Tensor();
    }
    before_.clear();
    return flow;
}

}  // namespace tapestry
