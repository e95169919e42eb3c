// einsum's equation, taken apart: text in, letters out. Nothing is known of tensors here.
// Internal to ops.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tapestry {

/// "ij, jk" as terms {"ij", "jk"} and output "ik". An ellipsis is one '.', spaces are gone,
/// and an output that was not written down is there.
struct EinsumEquation {
    std::vector<std::string> terms;
    std::string output;
};

/// Throws ValueError with the position (from 0) of the character that does not fit.
EinsumEquation parse_einsum(std::string_view text);

}  // namespace tapestry
