// The results of one command, as JSON and as the page made from it. docs/experiments.md is made
// from docs/experiments.json: a test regenerates it and compares.
#pragma once

#include <tapestry/examples/school/experiments/experiment.h>

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tapestry::experiments {

struct Results {
    std::string command;       ///< that produced them
    std::string version;       ///< Tapestry's version
    std::string isa;           ///< instruction set: on another, the last digits differ
    std::string program = {};  ///< checksum of the program, for results that a run continues from
    std::uint64_t seed = 1;
    std::int64_t seeds = 10;
    bool quick = false;
    std::vector<Found> found;
};

/// All numbers: cells with their intervals, claims with rule, number and verdict, the results of
/// every seed of every trial, and their curves over all seeds. Figures are named, not included.
std::string to_json(const Results& results);

/// Reads what to_json() wrote; figures and the curves of single seeds stay empty. Throws ValueError
/// for anything else.
Results results_from_json(std::string_view json);

/// The verdicts corrected for the number of claims in all of `found`, by the experiment's and the
/// claim's name.
std::map<std::pair<std::string, std::string>, Verdict> corrected_verdicts(
    const std::vector<Found>& found);

/// All claims with their numbers, in the order of `found`.
std::vector<Judged> judged(const std::vector<Found>& found);

/// All claims that were tested: verdict, corrected for the number of claims in its experiment and
/// in all of `found`, interval, seeds, and how many more values would show what these do not.
Table table_of_claims(const std::vector<Found>& found);

}  // namespace tapestry::experiments
