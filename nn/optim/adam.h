// Adam, and AdamW, which decays the weights apart from the gradient.
#pragma once

#include <tapestry/nn/optim/optimizer.h>

namespace tapestry {

struct AdamConfig {
    double lr = 1e-3;
    double beta1 = 0.9;
    double beta2 = 0.999;
    double eps = 1e-8;
};

/// Kingma and Ba 2015; weight decay is added to the gradient. Formulas: adamw_update_ in
/// ops/optimizer_step.h.
class Adam : public Optimizer {
public:
    Adam(std::vector<ParameterGroup> groups, const AdamConfig& config)
        : Adam(std::move(groups), config, false) {}

protected:
    Adam(std::vector<ParameterGroup> groups, const AdamConfig& config, bool decoupled);
    void update(std::vector<Update>& all) override;

private:
    struct Moments {
        Tensor first;   // running mean of g
        Tensor second;  // running mean of g^2
        std::int64_t steps = 0;
    };

    AdamConfig config_;
    bool decoupled_;
    std::vector<Moments> moments_;
};

/// Loshchilov and Hutter 2019; weight decay shrinks the parameter itself.
class AdamW : public Adam {
public:
    AdamW(std::vector<ParameterGroup> groups, const AdamConfig& config)
        : Adam(std::move(groups), config, true) {}
};

}  // namespace tapestry
