// All experiments, in the order in which docs/experiments.md shows them.
#pragma once

#include <tapestry/examples/experiments/experiment.h>

#include <string_view>

namespace tapestry::experiments {

const std::vector<Experiment>& all_experiments();

/// Throws ValueError, naming those there are, if there is none of this name.
const Experiment& find_experiment(std::string_view name);

}  // namespace tapestry::experiments
