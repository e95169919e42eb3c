// All experiments, in the order of docs/experiments.md. Read next: run_experiments.h, how they run
// one after another.
#pragma once

#include <tapestry/examples/school/experiments/experiment.h>

#include <string>
#include <string_view>

namespace tapestry::experiments {

const std::vector<Experiment>& all_experiments();

/// Experiments that run only by name and have their own pages: they take half an hour of both
/// cores.
const std::vector<Experiment>& experiments_apart();

/// From either list. Throws ValueError, listing the names, if there is none of this name.
const Experiment& find_experiment(std::string_view name);

/// One line per experiment: its name and its question.
std::string list_of_experiments();

}  // namespace tapestry::experiments
