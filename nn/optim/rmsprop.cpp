#include <tapestry/nn/optim/rmsprop.h>

#include <tapestry/ops/optimizer_step.h>

#include <cmath>

namespace tapestry {

RMSprop::RMSprop(ParameterGroups groups, const RMSpropConfig& config)
    : Optimizer(std::move(groups), config.lr, config.weight_decay) {
    set_settings({{"alpha", config.alpha},
                  {"eps", config.eps},
                  {"momentum", config.momentum},
                  {"centered", config.centered ? 1 : 0}});
}

Optimizer::Settings RMSprop::settings() const {
    return {
        {"alpha", alpha_}, {"eps", eps_}, {"momentum", momentum_}, {"centered", centered_ ? 1 : 0}};
}

void RMSprop::set_settings(const Settings& settings) {
    const double alpha = settings.at("alpha"), eps = settings.at("eps");
    const double momentum = settings.at("momentum");
    require(
        alpha >= 0 && alpha < 1 && momentum >= 0 && momentum < 1 && eps >= 0 && std::isfinite(eps),
        "RMSprop: alpha {}, momentum {} must lie in [0, 1) and eps {} be finite and not "
        "negative",
        alpha, momentum, eps);
    alpha_ = alpha;
    eps_ = eps;
    momentum_ = momentum;
    centered_ = settings.at("centered") != 0;
}

// The running means of g^2 and, if centred, of g; the velocity last.
std::vector<std::string> RMSprop::moment_names(const Settings& settings) const {
    std::vector<std::string> names{"v"};
    if (settings.at("centered") != 0) names.emplace_back("mean");
    if (settings.at("momentum") > 0) names.emplace_back("momentum");
    return names;
}

void RMSprop::update(const std::vector<Slot*>& slots, double grad_scale) {
    Tensor none;
    for (Slot* slot : slots) {
        Tensors& moments = slot->moments;
        rmsprop_update_(slot->parameter, slot->parameter.grad(), moments.front(),
                        centered_ ? moments[1] : none, momentum_ > 0 ? moments.back() : none,
                        {.lr = lr_of(*slot),
                         .alpha = alpha_,
                         .eps = eps_,
                         .weight_decay = weight_decay_of(*slot),
                         .momentum = momentum_,
                         .centered = centered_,
                         .grad_scale = grad_scale});
    }
}

}  // namespace tapestry
