// Realistic mistakes in a right pullback, and the cause that a checker should report for each.
#pragma once

#include <tapestry/tests/mutations/templates/template.h>

#include <string>
#include <vector>

namespace tapestry::test {

/// A pullback with a mistake in it; empty if the mistake is impossible there.
struct Planted {
    PlainPullback pullback = {};
    std::string note = {};  ///< its size and place
};

struct PlantedMistake {
    std::string_view name;
    /// Words of to_string(Mistake) that name it; if empty, it has no name and should get none.
    std::vector<std::string_view> causes;
    Planted (*plant)(const PlainCase& one, Draw& draw);
};

const std::vector<PlantedMistake>& planted_mistakes();
/// A part of them: wrong terms and outputs.
const std::vector<PlantedMistake>& mistakes_in_terms();

}  // namespace tapestry::test
