#include <tapestry/nn/optim/adam.h>

#include <tapestry/core/random.h>
#include <tapestry/ops/optimizer_step.h>

namespace tapestry {

Adam::Adam(ParameterGroups groups, const AdamConfig& config, bool decoupled)
    : ConfiguredOptimizer(decoupled ? "AdamW" : "Adam", std::move(groups), config,
                          config.weight_decay.value_or(decoupled ? 0.01 : 0)),
      decoupled_(decoupled) {}

void Adam::update(const std::vector<Slot*>& slots, double grad_scale) {
    AdamUpdate update{.beta1 = config().beta1,
                      .beta2 = config().beta2,
                      .eps = config().eps,
                      .decoupled = decoupled_,
                      .grad_scale = grad_scale};
    RecycledVector<AdamParameter> all;
    all.reserve(slots.size());
    for (const Slot* slot : slots) {
        if (is_narrow(slot->parameter.dtype())) {
            const auto step = static_cast<std::uint64_t>(slot->steps);
            update.rounding_key = stream(config().rounding_seed, slot->part.of, step).seed();
            update.first = slot->part.first;
        }
        all.push_back(adam_step(*slot, update));
    }
    adamw_update_(all);
}

// ---- RMSprop ------------------------------------------------------------------------------------

std::vector<std::string> RMSprop::moments(const RMSpropConfig& config) {
    std::vector<std::string> names{"v"};
    if (config.centered) names.emplace_back("mean");
    if (config.momentum > 0) names.emplace_back("momentum");
    return names;
}

void RMSprop::update_one(Slot& slot, double grad_scale) {
    const RMSpropConfig& c = config();
    Tensor none;
    rmsprop_update_(slot.parameter, slot.parameter.grad(), slot.moments.front(),
                    c.centered ? slot.moments[1] : none,
                    c.momentum > 0 ? slot.moments.back() : none,
                    {.lr = lr_of(slot),
                     .alpha = c.alpha,
                     .eps = c.eps,
                     .weight_decay = weight_decay_of(slot),
                     .momentum = c.momentum,
                     .centered = c.centered,
                     .grad_scale = grad_scale});
}

// ---- Lion ---------------------------------------------------------------------------------------

void Lion::update_one(Slot& slot, double grad_scale) {
    lion_update_(slot.parameter, slot.parameter.grad(), slot.moments[0],
                 {.lr = lr_of(slot),
                  .beta1 = config().beta1,
                  .beta2 = config().beta2,
                  .weight_decay = weight_decay_of(slot),
                  .grad_scale = grad_scale});
}

}  // namespace tapestry
