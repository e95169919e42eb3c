// Runs experiments one after another: the plan first, then their figures go into a folder, their
// results into text and, on request, into a Markdown page and JSON. The work behind `tapestry
// experiment`. Read next: render.h, how a report is written.
#pragma once

#include <tapestry/examples/school/experiments/results.h>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace tapestry::experiments {

struct RunOptions {
    std::vector<std::string> names = {"all"};  ///< of experiments, or "all" alone
    Setting setting = {};
    /// Folder for the figures; empty: DIR/NAME for the page DIR/NAME.md, otherwise "experiments".
    std::filesystem::path out = {};
    std::filesystem::path markdown = {};  ///< the page; empty: none
    std::filesystem::path json = {};      ///< all numbers; empty: none
};

/// Calls `told` after each experiment with its results, the place of its figures and its duration;
/// if there is more than one, first with the plan and last with the table of all claims; after a
/// quick run with what its verdicts are against those of docs/experiments.md. With a JSON file,
/// several experiments can be interrupted: what is done is kept in JSON.partial, and the same
/// command of the same program continues with the rest, if the model or text that it reads is the
/// same, too, and draws what is missing; otherwise that file becomes JSON.partial.old. Throws,
/// before anything runs, ValueError for an unknown name or a model that an experiment cannot
/// examine and IoError for a page or JSON file in a missing directory and for figures in what is no
/// directory; later as write_figures does.
void run_experiments(const RunOptions& options,
                     const std::function<void(const std::string&)>& told);

/// What the experiments will take: minutes of CPU of each, the total on `threads` threads, and
/// which are `done` already. Times were measured once, and grow with the number of seeds.
std::string plan_of(const std::vector<Experiment>& experiments, const Setting& setting, int threads,
                    const std::vector<Found>& done = {});

/// The verdicts of `other` against those of `first`, by the experiment's and the claim's name,
/// corrected for the number of claims in each: a table of those that differ, and how many are
/// reversed and how many moved to or from "not shown". Throws ValueError if they have no claim in
/// common, or if one is of quick runs and the other is not.
std::string compare_verdicts(const Results& first, const Results& other);

}  // namespace tapestry::experiments
