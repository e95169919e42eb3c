// What a sweep is, and those of wrong gradients. Internal to tests/mutations.
#pragma once

#include <tapestry/tests/mutations/templates/template.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace tapestry::test {

struct Trial {
    GradcheckReport report;
    std::string note = {};
    double off = 0;  ///< of a wrong one: of the worst entry, as a part of itself
};

struct Sweep {
    std::string name;
    int cases = 0;
    std::function<Trial(Draw& draw, std::uint64_t seed)> run;
    bool is_wrong = false;
};

/// Small outputs and small entries that are wrong, among large ones that are right.
std::vector<Sweep> sweeps_of_wrong();

}  // namespace tapestry::test
