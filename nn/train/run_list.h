// Runs in a directory tree, each with its configuration and results: what `tapestry runs` lists and
// `tapestry curve` puts under several curves.
//
//     for (const RunSummary& run : run_summaries(find_runs({"runs"}))) {
//         fmt::print("{}: {}\n", run.name, run.lowest.value);
//     }
//
// Needs no checkpoint: it reads metrics.jsonl (options of older runs: the latest checkpoint), so a
// run may still be at work. Read next: run_export.h, all numbers of a run for other programs.
#pragma once

#include <tapestry/nn/inspect/step_metrics.h>
#include <tapestry/nn/pages/report.h>

#include <filesystem>
#include <string>
#include <vector>

namespace tapestry {

/// The directories of runs among `paths` and below them, each once, sorted by path. Does not look
/// into a run, behind links or into names that begin with a dot. Throws IoError for a path that is
/// not a directory, and if there is no run.
std::vector<std::filesystem::path> find_runs(const std::vector<std::string>& paths);

/// A run, in numbers.
struct RunSummary {
    std::string name;  ///< its directory, as find_runs gives it
    /// "finished", "interrupted", or "unfinished": at work, killed or diverged
    std::string state = "unfinished";
    std::int64_t steps = 0;        ///< taken
    double seconds = 0;            ///< duration
    double loss = NAN;             ///< of the last step; NaN before the first
    StepValue lowest = {};         ///< lowest validation loss; step 0: none was taken
    double tokens_per_second = 0;  ///< over the run, evaluations included; 0: not known
    double bytes = 0;              ///< of all files in its directory
    /// Options as on the command line ("--lr"), from metrics.jsonl, or else the latest checkpoint;
    /// empty if neither has them.
    std::vector<RecipeLine> options = {};

    /// The value of an option; "?" if it is not known.
    std::string option(const std::string& option_name) const;
};

/// Sorted by lowest validation loss, runs without one last. Throws as read_metrics does.
std::vector<RunSummary> run_summaries(const std::vector<std::filesystem::path>& directories);

/// The names of the options in which the runs differ, sorted.
std::vector<std::string> differing_options(const std::vector<RunSummary>& runs);

/// Bytes of all regular files in a directory and its folders; those that cannot be read count 0.
double directory_bytes(const std::filesystem::path& directory);

/// As CSV (RFC 4180): a line of names, then one per run, with all options that any run has.
std::string to_csv(const std::vector<RunSummary>& runs);

/// As a JSON array of objects.
std::string to_json(const std::vector<RunSummary>& runs);

}  // namespace tapestry
