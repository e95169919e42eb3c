#include <tapestry/nn/optim/lion.h>

#include <tapestry/ops/optimizer_step.h>

namespace tapestry {

Lion::Lion(ParameterGroups groups, const LionConfig& config)
    : Optimizer(std::move(groups), config.lr, config.weight_decay) {
    set_settings({{"beta1", config.beta1}, {"beta2", config.beta2}});
}

Optimizer::Settings Lion::settings() const { return {{"beta1", beta1_}, {"beta2", beta2_}}; }

void Lion::set_settings(const Settings& settings) {
    const double beta1 = settings.at("beta1"), beta2 = settings.at("beta2");
    const auto fraction = [](double beta) { return beta >= 0 && beta < 1; };
    require(fraction(beta1) && fraction(beta2), "Lion: beta1 {}, beta2 {} must lie in [0, 1)",
            beta1, beta2);
    beta1_ = beta1;
    beta2_ = beta2;
}

// The running mean of g.
std::vector<std::string> Lion::moment_names(const Settings&) const { return {"m"}; }

void Lion::update(const std::vector<Slot*>& slots, double grad_scale) {
    for (Slot* slot : slots) {
        lion_update_(slot->parameter, slot->parameter.grad(), slot->moments[0],
                     {.lr = lr_of(*slot),
                      .beta1 = beta1_,
                      .beta2 = beta2_,
                      .weight_decay = weight_decay_of(*slot),
                      .grad_scale = grad_scale});
    }
}

}  // namespace tapestry
