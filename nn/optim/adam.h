// Adam, and AdamW, which decays the weights apart from the gradient; RMSprop, from which Adam
// comes: each gradient divided by the root of what its squares have been of late; and Lion: every
// parameter moves by the learning rate, in the direction of a mean of gradients.
#pragma once

#include <tapestry/nn/optim/configured_optimizer.h>

namespace tapestry {

/// The settings of Adam and AdamW.
struct AdamConfig {
    double lr = 1e-3;      ///< learning rate
    double beta1 = 0.9;    ///< share of the mean of the gradients that stays, in [0, 1)
    double beta2 = 0.999;  ///< share of the mean of their squares that stays, in [0, 1)
    double eps = 1e-8;     ///< added to the root to avoid division by 0
    /// Weight decay of groups that set none. Default: 0 for Adam and 0.01 for AdamW, as in PyTorch.
    std::optional<double> weight_decay = {};
    /// Seed for rounding bf16 parameters and their moments stochastically. The random numbers
    /// depend only on it, the parameter's name, its step and the element's index, not on threads or
    /// parts. At most 2^53.
    std::uint64_t rounding_seed = 0;
};

/// The fields of a configuration that has Adam's beta1, beta2 and eps.
template <class C, class Visitor>
constexpr void list_adam_settings(const Visitor& field) {
    field("beta1", &C::beta1, "Decay rate of the mean of gradients", kFraction);
    field("beta2", &C::beta2, "Decay rate of the mean of their squares", kFraction);
    field("eps", &C::eps, "Epsilon added to the root of that mean", kNotNegative);
}

template <>
struct FieldsOf<AdamConfig> {
    using C = AdamConfig;
    template <class Visitor>
    static constexpr void list(const Visitor& field) {
        list_adam_settings<C>(field);
        field("rounding_seed", &C::rounding_seed, "Seed for rounding bf16",
              {.low = 0, .high = 0x1p53});
    }
};

/// Kingma and Ba 2015; weight decay is added to the gradient. Formulas, and what is done of bf16:
/// adamw_update_ in ops/optimizer_step.h.
class Adam : public ConfiguredOptimizer<Adam, AdamConfig> {
public:
    /// Throws ValueError as Optimizer does, and for settings out of range.
    explicit Adam(ParameterGroups groups, const AdamConfig& config = {})
        : Adam(std::move(groups), config, false) {}

    /// The running means of g and of g^2.
    static std::vector<std::string> moments(const AdamConfig&) { return {"m", "v"}; }

protected:
    /// `decoupled`: AdamW.
    Adam(ParameterGroups groups, const AdamConfig& config, bool decoupled);
    void update(const std::vector<Slot*>& slots, double grad_scale) override;

private:
    bool decoupled_;
};

/// Loshchilov and Hutter 2019; weight decay shrinks the parameter itself.
class AdamW : public Adam {
public:
    /// Throws as Adam does.
    explicit AdamW(ParameterGroups groups, const AdamConfig& config = {})
        : Adam(std::move(groups), config, true) {}
};

// ---- RMSprop ------------------------------------------------------------------------------------

/// The settings of RMSprop.
struct RMSpropConfig {
    double lr = 1e-2;         ///< learning rate
    double alpha = 0.99;      ///< how slowly the running mean of the squares forgets
    double eps = 1e-8;        ///< added to the root to avoid division by 0
    double momentum = 0;      ///< of the steps; 0: none
    bool centered = false;    ///< divide by the deviation: the squares' mean less the mean's square
    double weight_decay = 0;  ///< added to the gradient; of groups that set none
};

template <>
struct FieldsOf<RMSpropConfig> {
    using C = RMSpropConfig;
    template <class Visitor>
    static constexpr void list(const Visitor& field) {
        field("alpha", &C::alpha, "Decay rate of the mean of squares", kFraction);
        field("eps", &C::eps, "Epsilon added to the root of that mean", kNotNegative);
        field("momentum", &C::momentum, "Decay rate of the velocity", kFraction);
        field("centered", &C::centered, "Divide by the standard deviation");
    }
};

/// Formulas: rmsprop_update_ in ops/optimizer_step.h. Sources: Tieleman and Hinton 2012, "Lecture
/// 6.5: rmsprop"; centred, Graves 2013, "Generating Sequences With Recurrent Neural Networks".
class RMSprop : public ConfiguredOptimizer<RMSprop, RMSpropConfig> {
public:
    /// Throws ValueError as Optimizer does, and for settings out of range.
    explicit RMSprop(ParameterGroups groups, const RMSpropConfig& config = {})
        : ConfiguredOptimizer("RMSprop", std::move(groups), config) {}

    /// The running means of g^2 and, if centred, of g; the velocity last.
    static std::vector<std::string> moments(const RMSpropConfig& config);

protected:
    /// The formula's step of one parameter.
    void update_one(Slot& slot, double grad_scale) override;
};

// ---- Lion ---------------------------------------------------------------------------------------

/// The settings of Lion.
struct LionConfig {
    double lr = 1e-4;     ///< a third to a tenth of AdamW's
    double beta1 = 0.9;   ///< of the mean whose sign is the step
    double beta2 = 0.99;  ///< of the mean that is kept
    /// Weight decay of groups that set none. Shrinks the parameter itself, as AdamW's does; for the
    /// same effect, multiply AdamW's by the factor by which the learning rate is smaller.
    double weight_decay = 0;
};

template <>
struct FieldsOf<LionConfig> {
    using C = LionConfig;
    template <class Visitor>
    static constexpr void list(const Visitor& field) {
        field("beta1", &C::beta1, "Decay rate of the mean whose sign is the step", kFraction);
        field("beta2", &C::beta2, "Decay rate of the mean that is stored", kFraction);
    }
};

/// Half of Adam's memory. Formulas: lion_update_ in ops/optimizer_step.h. Source: Chen et al. 2023,
/// "Symbolic Discovery of Optimization Algorithms".
class Lion : public ConfiguredOptimizer<Lion, LionConfig> {
public:
    /// Throws ValueError as Optimizer does, and for settings out of range.
    explicit Lion(ParameterGroups groups, const LionConfig& config = {})
        : ConfiguredOptimizer("Lion", std::move(groups), config) {}

    /// The running mean of g.
    static std::vector<std::string> moments(const LionConfig&) { return {"m"}; }

protected:
    /// The formula's step of one parameter.
    void update_one(Slot& slot, double grad_scale) override;
};

}  // namespace tapestry
