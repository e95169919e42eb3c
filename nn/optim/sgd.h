// Gradient descent.
#pragma once

#include <tapestry/nn/optim/optimizer.h>

namespace tapestry {

struct SGDConfig {
    double lr = 1e-2;
    double momentum = 0;
    bool nesterov = false;    ///< needs momentum
    double weight_decay = 0;  ///< of groups without one of their own
};

/// Formulas: sgd_update_ in ops/optimizer_step.h. Source: Sutskever et al. 2013, in PyTorch's form.
class SGD : public Optimizer {
public:
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
