// One kind of function at a time, over all of its sizes: which classes of right gradients fail,
// which wrong ones pass? The sweeps of an outside trial that found such classes, drawn by seed.
#pragma once

#include <cstdint>
#include <string>

namespace tapestry::test {

struct SweepOptions {
    std::uint64_t seed = 1;
    int every = 1;  ///< only every so-many-th case of each sweep
    std::string only = {};
    bool verbose = false;  ///< a report of each right one that fails and each wrong one that passes
};

/// Runs the sweeps whose names contain `only` and prints a line for each. Returns false if a right
/// gradient fails, or a wrong one passes that is off by more than the report's resolution.
bool print_sweeps(const SweepOptions& options);

}  // namespace tapestry::test
