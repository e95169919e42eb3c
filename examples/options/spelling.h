// How far a name is from another one, to suggest what was meant. Internal to examples/options.
#pragma once

#include <cstddef>
#include <string>

namespace tapestry::cli {

/// The number of letters to change, add, omit or swap with the next. Source: Damerau, "A technique
/// for computer detection and correction of spelling errors" (1964).
std::size_t mistakes_between(const std::string& a, const std::string& b);

}  // namespace tapestry::cli
