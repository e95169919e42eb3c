#include <tapestry/nn/optim/optimizer.h>

#include <cmath>
#include <set>

namespace tapestry {

std::vector<ParameterGroup> decay_groups(const Module& model, double weight_decay) {
    ParameterGroup decayed{.parameters = {}, .weight_decay = weight_decay};
    ParameterGroup others;
    for (const Tensor& parameter : model.parameters()) {
        (parameter.rank() >= 2 ? decayed : others).parameters.push_back(parameter);
    }
    return {decayed, others};
}

Optimizer::Optimizer(std::vector<ParameterGroup> groups, double lr) : groups_(std::move(groups)) {
    set_lr(lr);
    std::set<const Leaf*> seen;
    for (const ParameterGroup& group : groups_) {
        require(group.weight_decay >= 0 && group.lr_factor >= 0,
                "optimizer: weight decay {} and learning rate factor {} must not be negative",
                group.weight_decay, group.lr_factor);
        for (const Tensor& parameter : group.parameters) {
            require(parameter.requires_grad(),
                    "optimizer: a parameter {} does not ask for its gradient", parameter.shape());
            require(seen.insert(parameter.leaf().get()).second,
                    "optimizer: a parameter {} is listed twice", parameter.shape());
        }
    }
}

void Optimizer::set_lr(double lr) {
    require(lr >= 0 && std::isfinite(lr), "optimizer: learning rate {} is not a finite number >= 0",
            lr);
    lr_ = lr;
}

void Optimizer::step(double grad_scale) {
    ++steps_;
    std::size_t count = 0;
    for (const ParameterGroup& group : groups_) count += group.parameters.size();
    std::vector<Update> all;
    all.reserve(count);
    std::size_t index = 0;
    for (const ParameterGroup& group : groups_) {
        for (const Tensor& parameter : group.parameters) {
            Tensor gradient = parameter.grad();
            if (gradient.defined()) {
                all.push_back({.index = index,
                               .parameter = parameter,
                               .gradient = std::move(gradient),
                               .grad_scale = grad_scale,
                               .lr = lr_ * group.lr_factor,
                               .weight_decay = group.weight_decay});
            }
            ++index;
        }
    }
    update(all);
}

void Optimizer::zero_grad() {
    for (ParameterGroup& group : groups_) {
        for (Tensor& parameter : group.parameters) parameter.clear_grad();
    }
}

Tensors Optimizer::parameters() const {
    Tensors all;
    for (const ParameterGroup& group : groups_) {
        all.insert(all.end(), group.parameters.begin(), group.parameters.end());
    }
    return all;
}

}  // namespace tapestry
