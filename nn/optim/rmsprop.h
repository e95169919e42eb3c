// RMSprop: each gradient divided by the root of what its squares have been of late.
#pragma once

#include <tapestry/nn/optim/optimizer.h>

namespace tapestry {

struct RMSpropConfig {
    double lr = 1e-2;
    double alpha = 0.99;  ///< how slowly the running mean of the squares forgets
    double eps = 1e-8;
    double momentum = 0;
    bool centered = false;    ///< divide by the deviation: the squares' mean less the mean's square
    double weight_decay = 0;  ///< added to the gradient; of groups without one of their own
};

/// Formulas: rmsprop_update_ in ops/optimizer_step.h. Sources: Tieleman and Hinton 2012, "Lecture
/// 6.5: rmsprop"; centred, Graves 2013, "Generating Sequences With Recurrent Neural Networks".
class RMSprop : public Optimizer {
public:
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

}  // namespace tapestry
