// Lion: every parameter moves by the learning rate, in the direction of a mean of gradients.
#pragma once

#include <tapestry/nn/optim/optimizer.h>

namespace tapestry {

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
