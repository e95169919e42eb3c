// What all optimisers share: groups of parameters, a learning rate, and forgetting gradients.
#pragma once

#include <tapestry/nn/module.h>

namespace tapestry {

/// Parameters that share their settings.
struct ParameterGroup {
    Tensors parameters;
    double weight_decay = 0;
    double lr_factor = 1;  ///< times the optimiser's learning rate
};

/// Two groups: tensors of rank 2 and above decay, norms' weights and biases (rank 0 and 1) do not.
std::vector<ParameterGroup> decay_groups(const Module& model, double weight_decay);

class Optimizer {
public:
    virtual ~Optimizer() = default;
    Optimizer(const Optimizer&) = delete;
    Optimizer& operator=(const Optimizer&) = delete;

    /// One step along the gradients that the tapes have put into grad(), multiplied by grad_scale
    /// (clipping in the same pass over memory). Parameters without a gradient stay as they are.
    void step(double grad_scale = 1);

    void zero_grad();
    double lr() const { return lr_; }
    void set_lr(double lr);
    /// Steps taken so far.
    std::int64_t steps() const { return steps_; }

    /// The parameters of all groups.
    Tensors parameters() const;

protected:
    /// Throws ValueError for a parameter that did not ask for its gradient or stands in two groups,
    /// and for settings out of range.
    Optimizer(std::vector<ParameterGroup> groups, double lr);

    /// What update() is told of each parameter: which it is (counted over all groups, for the
    /// optimiser's own state), its gradient, and the settings that hold for it now.
    struct Update {
        std::size_t index;
        Tensor parameter;
        Tensor gradient;
        double grad_scale;
        double lr;
        double weight_decay;
    };
    /// One step for the parameters that have a gradient.
    virtual void update(std::vector<Update>& all) = 0;

private:
    std::vector<ParameterGroup> groups_;
    double lr_;
    std::int64_t steps_ = 0;
};

}  // namespace tapestry
