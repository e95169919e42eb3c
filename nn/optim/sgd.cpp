#include <tapestry/core/create.h>
#include <tapestry/nn/optim/sgd.h>
#include <tapestry/ops/optimizer_step.h>

namespace tapestry {

SGD::SGD(std::vector<ParameterGroup> groups, const SGDConfig& config)
    : Optimizer(std::move(groups), config.lr), config_(config) {
    require(config.momentum >= 0 && config.momentum < 1, "SGD: momentum {} is not in [0, 1)",
            config.momentum);
    require(!config.nesterov || config.momentum > 0, "SGD: nesterov needs momentum");
    velocities_.resize(parameters().size());
}

void SGD::update(std::vector<Update>& all) {
    for (Update& u : all) {
        Tensor& velocity = velocities_[u.index];
        const bool first = !velocity.defined();
        if (first && config_.momentum > 0) velocity = zeros_like(u.parameter);
        sgd_update_(u.parameter, u.gradient, velocity,
                    {.lr = u.lr,
                     .momentum = config_.momentum,
                     .weight_decay = u.weight_decay,
                     .nesterov = config_.nesterov,
                     .first = first,
                     .grad_scale = u.grad_scale});
    }
}

}  // namespace tapestry
