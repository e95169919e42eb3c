// All experiments, in the order in which docs/experiments.md shows them, and how they are run one
// after the other: their pictures go into a folder, what they found into words and, if that is
// asked for, into a page of Markdown. What `tapestry experiment` does. Read next: render.h, how a
// report is written.
#pragma once

#include <tapestry/examples/school/experiments/experiment.h>

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

namespace tapestry::experiments {

const std::vector<Experiment>& all_experiments();

/// Those that are run by name alone, and have pages of their own: what they measure is half an hour
/// of both cores.
const std::vector<Experiment>& experiments_apart();

/// Of either list. Throws ValueError, naming those there are, if there is none of this name.
const Experiment& find_experiment(std::string_view name);

struct RunOptions {
    std::string name = "all";  ///< which one, or all
    Setting setting = {};
    /// For the pictures; empty: DIR/NAME for the page DIR/NAME.md, or else "experiments".
    std::filesystem::path out = {};
    std::filesystem::path markdown = {};  ///< the page; empty: none
    std::filesystem::path json = {};      ///< all numbers; empty: none
};

/// `told` hears of each experiment, when it has run, what it found, where its pictures are and how
/// long it took; at last, where there was more than one, the table of all claims. Throws ValueError
/// for a name that is none and a model that an experiment cannot ask, IoError for a page or JSON in
/// no directory, before anything runs, and as write_figures does.
void run_experiments(const RunOptions& options,
                     const std::function<void(const std::string&)>& told);

/// A line for each: its name and its question.
std::string list_of_experiments();

}  // namespace tapestry::experiments
