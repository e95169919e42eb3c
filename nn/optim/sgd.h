// Gradient descent.
#pragma once

#include <tapestry/nn/optim/configured_optimizer.h>

namespace tapestry {

/// The settings of SGD.
struct SGDConfig {
    double lr = 1e-2;                 ///< learning rate
    double momentum = 0;              ///< share of the buffer that stays, in [0, 1); 0: no buffer
    bool nesterov = false;            ///< needs momentum
    double weight_decay = 0;          ///< of groups that set none
    std::uint64_t rounding_seed = 0;  ///< for bf16 parameters, as in AdamConfig
};

template <>
struct FieldsOf<SGDConfig> {
    using C = SGDConfig;
    template <class Visitor>
    static constexpr void list(const Visitor& field) {
        field("momentum", &C::momentum, "Decay rate of the velocity", kFraction);
        field("nesterov", &C::nesterov, "Nesterov momentum: look ahead along the velocity");
        field("rounding_seed", &C::rounding_seed, "Seed for rounding bf16",
              {.low = 0, .high = 0x1p53});
    }
};

/// Formulas: sgd_update_ in ops/optimizer_step.h. Source: Sutskever et al. 2013, in PyTorch's form.
class SGD : public ConfiguredOptimizer<SGD, SGDConfig> {
public:
    /// Throws ValueError as Optimizer does, and for settings out of range.
    explicit SGD(ParameterGroups groups, const SGDConfig& config = {})
        : ConfiguredOptimizer("SGD", std::move(groups), config) {}

    /// The velocity.
    static std::vector<std::string> moments(const SGDConfig& config);
    /// Throws ValueError for nesterov without momentum.
    static void check(const SGDConfig& config);

protected:
    /// The formula's step of one parameter.
    void update_one(Slot& slot, double grad_scale) override;
};

}  // namespace tapestry
