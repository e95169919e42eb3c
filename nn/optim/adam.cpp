#include <tapestry/nn/optim/adam.h>

#include <tapestry/ops/optimizer_step.h>

#include <cmath>

namespace tapestry {

Adam::Adam(ParameterGroups groups, const AdamConfig& config, bool decoupled)
    : Optimizer(std::move(groups), config.lr, config.weight_decay.value_or(decoupled ? 0.01 : 0)),
      decoupled_(decoupled) {
    set_settings({{"beta1", config.beta1}, {"beta2", config.beta2}, {"eps", config.eps}});
}

Optimizer::Settings Adam::settings() const {
    return {{"beta1", beta1_}, {"beta2", beta2_}, {"eps", eps_}};
}

void Adam::set_settings(const Settings& settings) {
    const double beta1 = settings.at("beta1"), beta2 = settings.at("beta2");
    const double eps = settings.at("eps");
    const auto fraction = [](double beta) { return beta >= 0 && beta < 1; };
    require(fraction(beta1) && fraction(beta2) && eps >= 0 && std::isfinite(eps),
            "{}: beta1 {}, beta2 {} must lie in [0, 1) and eps {} be finite and not negative",
            kind(), beta1, beta2, eps);
    beta1_ = beta1;
    beta2_ = beta2;
    eps_ = eps;
}

// The running means of g and of g^2.
std::vector<std::string> Adam::moment_names(const Settings&) const { return {"m", "v"}; }

void Adam::update(const std::vector<Slot*>& slots, double grad_scale) {
    std::vector<AdamParameter> all;
    all.reserve(slots.size());
    for (const Slot* slot : slots) {
        // Counted by parameter: one may miss a step, and its moments are then younger.
        all.push_back({slot->parameter, slot->parameter.grad(), slot->moments[0], slot->moments[1],
                       AdamUpdate{.lr = lr_of(*slot),
                                  .beta1 = beta1_,
                                  .beta2 = beta2_,
                                  .eps = eps_,
                                  .weight_decay = weight_decay_of(*slot),
                                  .step = slot->steps,
                                  .decoupled = decoupled_,
                                  .grad_scale = grad_scale}});
    }
    adamw_update_(all);
}

}  // namespace tapestry
