#include <tapestry/core/create.h>
#include <tapestry/nn/optim/adam.h>
#include <tapestry/ops/optimizer_step.h>

namespace tapestry {

Adam::Adam(std::vector<ParameterGroup> groups, const AdamConfig& config, bool decoupled)
    : Optimizer(std::move(groups), config.lr), config_(config), decoupled_(decoupled) {
    const auto fraction = [](double beta) { return beta >= 0 && beta < 1; };
    require(fraction(config.beta1) && fraction(config.beta2) && config.eps >= 0,
            "Adam: beta1 {}, beta2 {} must lie in [0, 1) and eps {} not be negative", config.beta1,
            config.beta2, config.eps);
    moments_.resize(parameters().size());
}

void Adam::update(std::vector<Update>& all) {
    std::vector<AdamParameter> steps;
    steps.reserve(all.size());
    for (Update& u : all) {
        Moments& m = moments_[u.index];
        if (!m.first.defined()) {
            m.first = zeros_like(u.parameter);
            m.second = zeros_like(u.parameter);
        }
        ++m.steps;  // its own count: a parameter may miss a step, and its moments are then younger
        steps.push_back({std::move(u.parameter), std::move(u.gradient), m.first, m.second,
                         AdamUpdate{.lr = u.lr,
                                    .beta1 = config_.beta1,
                                    .beta2 = config_.beta2,
                                    .eps = config_.eps,
                                    .weight_decay = u.weight_decay,
                                    .step = m.steps,
                                    .decoupled = decoupled_,
                                    .grad_scale = u.grad_scale}});
    }
    adamw_update_(steps);
}

}  // namespace tapestry
