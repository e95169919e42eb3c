#include <tapestry/nn/optim/sgd.h>

#include <tapestry/core/random.h>
#include <tapestry/ops/optimizer_step.h>

namespace tapestry {

std::vector<std::string> SGD::moments(const SGDConfig& config) {
    if (config.momentum > 0) return {"momentum"};
    return {};
}

void SGD::check(const SGDConfig& config) {
    require(!config.nesterov || config.momentum > 0, "SGD: nesterov needs momentum");
}

void SGD::update_one(Slot& slot, double grad_scale) {
    Tensor none;
    std::uint64_t key = 0;
    if (is_narrow(slot.parameter.dtype())) {
        const auto step = static_cast<std::uint64_t>(slot.steps);
        key = stream(config().rounding_seed, slot.part.of, step).seed();
    }
    sgd_update_(slot.parameter, slot.parameter.grad(),
                config().momentum > 0 ? slot.moments[0] : none,
                {.lr = lr_of(slot),
                 .momentum = config().momentum,
                 .weight_decay = weight_decay_of(slot),
                 .nesterov = config().nesterov,
                 .first = slot.steps == 1,
                 .grad_scale = grad_scale,
                 .rounding_key = key,
                 .first_element = slot.part.first});
}

}  // namespace tapestry
