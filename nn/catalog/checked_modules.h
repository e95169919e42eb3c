// One small example of every module, ready for its gradients to be checked: parameters in f64, away
// from their initial values (biases of 0 and norms of 1 hide mistakes), and a function of them.
#pragma once

#include <tapestry/nn/module/module.h>

#include <functional>
#include <memory>

namespace tapestry::catalog {

struct CheckedModule {
    std::string name;  ///< "gpt"
    std::shared_ptr<Module> module;
    std::function<Tensor()> value;  ///< output or loss
    /// Converts module and inputs to f64 (as they come) or f32. Parameters, then inputs.
    std::function<NamedTensors(DType)> leaves;
};

/// The names that checked_module() knows.
const std::vector<std::string>& checked_module_names();

/// Throws ValueError for an unknown name, and says which are known.
CheckedModule checked_module(const std::string& name);

}  // namespace tapestry::catalog
