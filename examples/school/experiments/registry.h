// All experiments, in the order in which docs/experiments.md shows them.
#pragma once

#include <tapestry/examples/school/experiments/experiment.h>

#include <string_view>

namespace tapestry::experiments {

const std::vector<Experiment>& all_experiments();

/// Those that are run by name alone, and have pages of their own: what they measure is half an hour
/// of both cores.
const std::vector<Experiment>& experiments_apart();

/// Of either list. Throws ValueError, naming those there are, if there is none of this name.
const Experiment& find_experiment(std::string_view name);

}  // namespace tapestry::experiments
