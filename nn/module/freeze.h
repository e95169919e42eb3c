// Freezing: training only part of a model. module.freeze("blocks") and unfreeze
// (nn/module/module.h) name the parameters to freeze; train_only names the ones to train.
//
// Freezing applies to the tensor, not the name: a weight shared by two modules is frozen in both.
// Training it in only one of them is impossible, and requesting that is an error.
#pragma once

#include <tapestry/nn/module/module.h>

namespace tapestry {

/// Trains the parameters named by `prefixes`, as Module::freeze takes them, and freezes all others.
/// Returns the names of the frozen parameters. Throws ValueError, and changes nothing, for a prefix
/// that matches nothing, and for one that names only one side of a tied weight.
std::vector<std::string> train_only(Module& module, const std::vector<std::string>& prefixes);

/// The names of the frozen parameters.
std::vector<std::string> frozen_parameters(const Module& module);

}  // namespace tapestry
