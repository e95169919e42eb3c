// Adam, and AdamW, which decays the weights apart from the gradient; RMSprop, from which Adam
// comes: each gradient divided by the root of what its squares have been of late; and Lion: every
// parameter moves by the learning rate, in the direction of a mean of gradients.
#pragma once

#include <tapestry/nn/optim/optimizer.h>

namespace tapestry {

/// The settings of Adam and AdamW.
struct AdamConfig {
    double lr = 1e-3;      ///< learning rate
    double beta1 = 0.9;    ///< share of the mean of the gradients that stays, in [0, 1)
    double beta2 = 0.999;  ///< share of the mean of their squares that stays, in [0, 1)
    double eps = 1e-8;     ///< added to the root, so that nothing is divided by 0
    /// Of all parameters in groups without one of their own. If not given, 0 for Adam and 0.01 for
    /// AdamW, as PyTorch's.
    std::optional<double> weight_decay = {};
    /// Of parameters of bf16, which are rounded by chance, as their moments are. What is drawn
    /// follows from this seed, a parameter's name, its step and the number's place: threads and
    /// parts change nothing. At most 2^53.
    std::uint64_t rounding_seed = 0;
};

/// Kingma and Ba 2015; weight decay is added to the gradient. Formulas, and what is done of bf16:
/// adamw_update_ in ops/optimizer_step.h.
class Adam : public Optimizer {
public:
    /// Throws ValueError as Optimizer does, and for settings out of range.
    explicit Adam(ParameterGroups groups, const AdamConfig& config = {})
        : Adam(std::move(groups), config, false) {}

    const char* kind() const override { return decoupled_ ? "AdamW" : "Adam"; }

protected:
    /// `decoupled`: AdamW.
    Adam(ParameterGroups groups, const AdamConfig& config, bool decoupled);
    void update(const std::vector<Slot*>& slots, double grad_scale) override;
    Settings settings() const override;
    void set_settings(const Settings& settings) override;
    std::vector<std::string> moment_names(const Settings& settings) const override;

private:
    double beta1_ = 0;
    double beta2_ = 0;
    double eps_ = 0;
    std::uint64_t rounding_seed_ = 0;
    bool decoupled_;
    bool rounds_;  // some parameters are bf16: the seed is one of the settings
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
    double eps = 1e-8;        ///< added to the root, so that nothing is divided by 0
    double momentum = 0;      ///< of the steps; 0: none
    bool centered = false;    ///< divide by the deviation: the squares' mean less the mean's square
    double weight_decay = 0;  ///< added to the gradient; of groups without one of their own
};

/// Formulas: rmsprop_update_ in ops/optimizer_step.h. Sources: Tieleman and Hinton 2012, "Lecture
/// 6.5: rmsprop"; centred, Graves 2013, "Generating Sequences With Recurrent Neural Networks".
class RMSprop : public Optimizer {
public:
    /// Throws ValueError as Optimizer does, and for settings out of range.
    explicit RMSprop(ParameterGroups groups, const RMSpropConfig& config = {});

    const char* kind() const override { return "RMSprop"; }

protected:
    void update(const std::vector<Slot*>& slots, double grad_scale) override;
    Settings settings() const override;
    void set_settings(const Settings& settings) override;
    std::vector<std::string> moment_names(const Settings& settings) const override;

private:
    double alpha_ = 0;
    double eps_ = 0;
    double momentum_ = 0;
    bool centered_ = false;
};

// ---- Lion ---------------------------------------------------------------------------------------

/// The settings of Lion.
struct LionConfig {
    double lr = 1e-4;     ///< a third to a tenth of AdamW's
    double beta1 = 0.9;   ///< of the mean whose sign is the step
    double beta2 = 0.99;  ///< of the mean that is kept
    /// Shrinks the parameter itself, as AdamW's; of groups without one of their own. For the same
    /// strength as AdamW's it is as many times larger as the learning rate is smaller.
    double weight_decay = 0;
};

/// Half of Adam's memory. Formulas: lion_update_ in ops/optimizer_step.h. Source: Chen et al. 2023,
/// "Symbolic Discovery of Optimization Algorithms".
class Lion : public Optimizer {
public:
    /// Throws ValueError as Optimizer does, and for settings out of range.
    explicit Lion(ParameterGroups groups, const LionConfig& config = {});

    const char* kind() const override { return "Lion"; }

protected:
    void update(const std::vector<Slot*>& slots, double grad_scale) override;
    Settings settings() const override;
    void set_settings(const Settings& settings) override;
    std::vector<std::string> moment_names(const Settings& settings) const override;

private:
    double beta1_ = 0;
    double beta2_ = 0;
};

}  // namespace tapestry
