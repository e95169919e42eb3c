#include <tapestry/nn/optim/sgd.h>

#include <tapestry/ops/optimizer_step.h>

namespace tapestry {

SGD::SGD(ParameterGroups groups, const SGDConfig& config)
    : Optimizer(std::move(groups), config.lr, config.weight_decay) {
    set_settings({{"momentum", config.momentum}, {"nesterov", config.nesterov ? 1 : 0}});
}

Optimizer::Settings SGD::settings() const {
    return {{"momentum", momentum_}, {"nesterov", nesterov_ ? 1 : 0}};
}

void SGD::set_settings(const Settings& settings) {
    const double momentum = settings.at("momentum");
    const bool nesterov = settings.at("nesterov") != 0;
    require(momentum >= 0 && momentum < 1, "SGD: momentum {} is not in [0, 1)", momentum);
    require(!nesterov || momentum > 0, "SGD: nesterov needs momentum");
    momentum_ = momentum;
    nesterov_ = nesterov;
}

std::vector<std::string> SGD::moment_names(const Settings& settings) const {
    if (settings.at("momentum") > 0) return {"momentum"};
    return {};
}

void SGD::update(const std::vector<Slot*>& slots, double grad_scale) {
    Tensor none;
    for (Slot* slot : slots) {
        sgd_update_(slot->parameter, slot->parameter.grad(),
                    momentum_ > 0 ? slot->moments[0] : none,
                    {.lr = lr_of(*slot),
                     .momentum = momentum_,
                     .weight_decay = weight_decay_of(*slot),
                     .nesterov = nesterov_,
                     .first = slot->steps == 1,
                     .grad_scale = grad_scale});
    }
}

}  // namespace tapestry
