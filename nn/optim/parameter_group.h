// What an optimiser is given: parameters and their names, in groups that share their settings.
//
//     AdamW all(model, {.lr = 1e-3});                       // what is not frozen
//     AdamW some(decay_groups(model, 0.1), {.lr = 1e-3});
//     SGD plain({{.parameters = {w, b}, .lr_factor = 0.1}}, {.lr = 1e-2});
//
// Under the names an optimiser gives its state out and takes it back (nn/optim/optimizer.h).
#pragma once

#include <tapestry/nn/module/module.h>

#include <optional>

namespace tapestry {

/// Parameters by name. Those that come as plain tensors are called "0", "1", ... in the order in
/// which the optimiser was given them.
class ParameterList : public NamedTensors {
public:
    ParameterList() = default;
    ParameterList(NamedTensors named) : NamedTensors(std::move(named)) {}
    ParameterList(std::initializer_list<value_type> named) : NamedTensors(named) {}
    ParameterList(const Tensors& tensors);
    ParameterList(std::initializer_list<Tensor> tensors) : ParameterList(Tensors(tensors)) {}
};

/// Parameters that share their settings.
struct ParameterGroup {
    ParameterList parameters;
    std::optional<double> weight_decay = {};  ///< the optimiser's own if not given
    double lr_factor = 1;                     ///< times the optimiser's learning rate
};

/// One group or several; a module is one group with its parameters.
class ParameterGroups : public std::vector<ParameterGroup> {
public:
    ParameterGroups() = default;
    ParameterGroups(std::vector<ParameterGroup> groups) : vector(std::move(groups)) {}
    ParameterGroups(std::initializer_list<ParameterGroup> groups) : vector(groups) {}
    ParameterGroups(const Module& module) : ParameterGroups(module.named_parameters()) {}
    ParameterGroups(const Tensors& parameters) : vector{{.parameters = parameters}} {}
    ParameterGroups(const NamedTensors& parameters) : vector{{.parameters = parameters}} {}
};

/// Two groups: tensors of rank 2 and above decay, norms' weights and biases (rank 0 and 1) do not.
std::vector<ParameterGroup> decay_groups(const Module& model, double weight_decay);

}  // namespace tapestry
