#include <tapestry/nn/optim/parameter_group.h>

namespace tapestry {

ParameterList::ParameterList(const Tensors& tensors) {
    for (const Tensor& tensor : tensors) emplace_back("", tensor);
}

std::vector<ParameterGroup> decay_groups(const Module& model, double weight_decay) {
    ParameterGroup decayed{.parameters = {}, .weight_decay = weight_decay};
    ParameterGroup others{.parameters = {}, .weight_decay = 0};
    for (const auto& [name, parameter] : model.named_parameters()) {
        (parameter.rank() >= 2 ? decayed : others).parameters.emplace_back(name, parameter);
    }
    return {decayed, others};
}

}  // namespace tapestry
