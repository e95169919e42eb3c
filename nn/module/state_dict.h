// Tensors by name that are to go into a module: which goes where, and what is wrong with them. The
// same for those in memory (Module::load_state_dict) and in a file (nn/io/module_file.h).
#pragma once

#include <tapestry/nn/module/module.h>

namespace tapestry {

/// What Module::state_dict() gives out, but without copies: these are handles.
NamedTensors saved_tensors(const Module& module);

struct Match {
    /// Nothing is changed. `what` has the tensors: "file".
    Match(const NamedTensors& stored, const Module& module, bool strict, const char* what);

    std::vector<std::pair<Tensor, Tensor>> pairs;  ///< from and to
    Unmatched unmatched;
    std::string flaws;  ///< why they do not fit, in words for an error; empty if they do
};

}  // namespace tapestry
