#include <tapestry/nn/inspect/gradient_flow.h>

#include <tapestry/core/copy.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/optimizer_step.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string_view>

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

namespace {

// Per unit: whether it is nonzero in some row. NaN counts as nonzero.
std::vector<bool> moved(const Tensor& gradient, std::int64_t units) {
    std::vector<bool> moved(static_cast<std::size_t>(units), false);
    const Tensor g = dense(gradient);
    visit_dtype(g.dtype(), [&](auto zero) {
        const auto* values = g.data<decltype(zero)>();
        for (std::int64_t i = 0; i < g.numel(); ++i) {
            if (values[i] != zero) moved[static_cast<std::size_t>(i % units)] = true;
        }
    });
    return moved;
}

}  // namespace

bool is_activation(const Op& op) {
    static constexpr std::array<std::string_view, 7> kNames{
        "relu", "relu_squared", "gelu", "silu", "softplus", "tanh", "sigmoid"};
    return std::find(kNames.begin(), kNames.end(), op.name()) != kNames.end();
}

UnitCounts count_units(const Tensor& output_gradient, const Tensor& input_gradient) {
    const std::int64_t units = output_gradient.rank() > 0 ? output_gradient.size(-1) : 1;
    if (units == 0) return {};
    UnitCounts counts{.rows = output_gradient.numel() / units, .units = units};
    const std::vector<bool> came = moved(output_gradient, units);
    const std::vector<bool> went_on = moved(input_gradient, units);
    for (std::size_t unit = 0; unit < came.size(); ++unit) {
        counts.unreached += came[unit] ? 0 : 1;
        counts.dead += came[unit] && !went_on[unit] ? 1 : 0;
    }
    return counts;
}

}  // namespace tapestry
