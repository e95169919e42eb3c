// Gradient descent.
#pragma once

#include <tapestry/nn/optim/optimizer.h>

namespace tapestry {

/// The settings of SGD.
struct SGDConfig {
    double lr = 1e-2;         ///< learning rate
    double momentum = 0;      ///< share of the buffer that stays, in [0, 1); 0: no buffer
    bool nesterov = false;    ///< needs momentum
    double weight_decay = 0;  ///< of groups without one of their own
};

/// Formulas: sgd_update_ in ops/optimizer_step.h. Source: Sutskever et al. 2013, in PyTorch's form.
class SGD : public Optimizer {
public:
    /// Throws ValueError as Optimizer does, and for settings out of range.
    explicit SGD(ParameterGroups groups, const SGDConfig& config = {});

    const char* kind() const override { return "SGD"; }

protected:
    void update(const std::vector<Slot*>& slots, double grad_scale) override;
    Settings settings() const override;
    void set_settings(const Settings& settings) override;
    std::vector<std::string> moment_names(const Settings& settings) const override;

private:
    double momentum_ = 0;
    bool nesterov_ = false;
};

}  // namespace tapestry
