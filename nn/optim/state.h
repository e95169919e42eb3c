// The state of an optimiser as a value: what its next step depends on, beside parameters and
// gradients. Optimizer::state() gives it out, Optimizer::load_state() takes it back.
#pragma once

#include <tapestry/core/tensor.h>

#include <map>
#include <string>
#include <vector>

namespace tapestry {

struct OptimizerState {
    using Settings = std::map<std::string, double>;
    struct Group {
        std::vector<std::string> parameters;  ///< their names
        double weight_decay = 0;
        double lr_factor = 1;
    };

    std::string kind;        ///< "AdamW"
    std::int64_t steps = 0;  ///< taken so far
    double lr = 0;
    Settings settings = {};  ///< "beta1", "beta2", "eps"; "momentum", "nesterov"
    std::vector<Group> groups = {};
    /// Of parameter NAME "steps.NAME", i64 [], the steps in which it had a gradient; and unless
    /// that is 0, its moments, of its shape and dtype: "m.NAME" and "v.NAME" of Adam and AdamW,
    /// "momentum.NAME" of SGD with momentum, and of the matrices of Muon.
    NamedTensors tensors = {};
};

}  // namespace tapestry
