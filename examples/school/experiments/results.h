// Everything one command found, as JSON and as the page made of it. docs/experiments.md is the page
// of docs/experiments.json: a test writes it anew from there and compares.
#pragma once

#include <tapestry/examples/school/experiments/experiment.h>

#include <string>
#include <string_view>
#include <vector>

namespace tapestry::experiments {

struct Results {
    std::string command;  ///< that wrote them
    std::string version;  ///< of Tapestry
    std::string isa;      ///< instruction set: on another, numbers differ in their last digits
    std::uint64_t seed = 1;
    std::int64_t seeds = 10;
    bool quick = false;
    std::vector<Found> found;
};

/// All numbers: cells with their intervals, claims with rule, number and verdict, and what every
/// seed of every trial gave. Pictures are named, not contained.
std::string to_json(const Results& results);

/// What to_json wrote; pictures and curves are empty. Throws ValueError for anything else.
Results results_from_json(std::string_view json);

/// The claims of all that ran: verdict, number, interval, seeds.
Table table_of_claims(const std::vector<Found>& found);

}  // namespace tapestry::experiments
