// All experiments, in the order of docs/experiments.md, and how to run them one after another:
// their figures go into a folder, their results into text and, on request, into a Markdown page.
// The work behind `tapestry experiment`. Read next: render.h, how a report is written.
#pragma once

#include <tapestry/examples/school/experiments/experiment.h>

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

namespace tapestry::experiments {

const std::vector<Experiment>& all_experiments();

/// Experiments that run only by name and have their own pages: they take half an hour of both
/// cores.
const std::vector<Experiment>& experiments_apart();

/// From either list. Throws ValueError, listing the names, if there is none of this name.
const Experiment& find_experiment(std::string_view name);

struct RunOptions {
    std::string name = "all";  ///< name of an experiment, or "all"
    Setting setting = {};
    /// Folder for the figures; empty: DIR/NAME for the page DIR/NAME.md, otherwise "experiments".
    std::filesystem::path out = {};
    std::filesystem::path markdown = {};  ///< the page; empty: none
    std::filesystem::path json = {};      ///< all numbers; empty: none
};

/// Calls `told` after each experiment with its results, the place of its figures and its duration;
/// if there was more than one, last with the table of all claims. Throws, before anything runs,
/// ValueError for an unknown name or a model that an experiment cannot examine and IoError for a
/// page or JSON file in a missing directory; later as write_figures does.
void run_experiments(const RunOptions& options,
                     const std::function<void(const std::string&)>& told);

/// One line per experiment: its name and its question.
std::string list_of_experiments();

}  // namespace tapestry::experiments
