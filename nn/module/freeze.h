// Freezing: training a part of a model. module.freeze("blocks") and unfreeze (nn/module/module.h)
// name what stays as it is; train_only names the rest.
//
// It acts on the tensor, not on the name: a weight that two modules share is frozen for both. To
// train one of them alone is impossible, and asking for it is an error.
#pragma once

#include <tapestry/nn/module/module.h>

namespace tapestry {

/// Trains the parameters that `prefixes` name, as Module::freeze takes them, and freezes all
/// others. Returns the names of the frozen. Throws ValueError, and changes nothing, for a prefix
/// that names nothing, and for one that names only one side of a tied weight.
std::vector<std::string> train_only(Module& module, const std::vector<std::string>& prefixes);

/// The names of the frozen parameters.
std::vector<std::string> frozen_parameters(const Module& module);

}  // namespace tapestry
