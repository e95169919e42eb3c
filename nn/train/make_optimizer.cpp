#include <tapestry/nn/train/make_optimizer.h>

#include <tapestry/core/stream.h>
#include <tapestry/nn/optim/adam.h>
#include <tapestry/nn/optim/muon.h>

namespace tapestry {

std::unique_ptr<Optimizer> make_optimizer(const GPT& model, const TrainingConfig& config) {
    constexpr double kBeta1 = 0.9;
    if (config.optimizer == OptimizerKind::adamw) {
        return std::make_unique<AdamW>(
            decay_groups(model, config.weight_decay),
            AdamConfig{.lr = config.lr,
                       .beta1 = kBeta1,
                       .beta2 = config.beta2,
                       .rounding_seed = stream(config.seed, "rounding").seed() >> 11U});
    }
    MuonGroups groups = muon_groups(model, config.weight_decay);
    for (ParameterGroup& group : groups.matrices) group.lr_factor = config.muon_lr;
    return std::make_unique<Muon>(groups, MuonConfig{.lr = config.lr,
                                                     .momentum = config.muon_momentum,
                                                     .iterations = config.muon_iterations,
                                                     .beta1 = kBeta1,
                                                     .beta2 = config.beta2});
}

}  // namespace tapestry
