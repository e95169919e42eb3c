// Gradient descent.
#pragma once

#include <tapestry/nn/optim/optimizer.h>

namespace tapestry {

struct SGDConfig {
    double lr = 1e-2;
    double momentum = 0;
    bool nesterov = false;  ///< needs momentum
};

/// Formulas: sgd_update_ in ops/optimizer_step.h. Source: Sutskever et al. 2013, in PyTorch's form.
class SGD : public Optimizer {
public:
    SGD(std::vector<ParameterGroup> groups, const SGDConfig& config);

protected:
    void update(std::vector<Update>& all) override;

private:
    SGDConfig config_;
    Tensors velocities_;
};

}  // namespace tapestry
