// Mistakes in a right pullback, as people make them, and what a checker should call each.
#pragma once

#include <tapestry/tests/mutations/templates/template.h>

#include <string>
#include <vector>

namespace tapestry::test {

/// A pullback with a mistake in it; empty where the mistake cannot be made there.
struct Planted {
    PlainPullback pullback = {};
    std::string note = {};  ///< how large, and where
};

struct PlantedMistake {
    std::string_view name;
    /// Words of to_string(Mistake) that name it; none: it has no name, and should get none.
    std::vector<std::string_view> causes;
    Planted (*plant)(const PlainCase& one, Draw& draw);
};

const std::vector<PlantedMistake>& planted_mistakes();

}  // namespace tapestry::test
