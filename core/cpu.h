// Which instruction set the kernels run on.
//
// The detection is our own: xsimd 8.1 reads the AVX bit from the wrong leaf and never asks whether
// the system saves the wide registers (XGETBV).
#pragma once

#include <string_view>
#include <vector>

namespace tapestry {

enum class Isa { baseline, avx2, avx512, neon };

std::string_view name_of(Isa isa);

/// What this build and this machine both have, the plainest first.
std::vector<Isa> available_isas();

/// The one in use: TAPESTRY_ISA if set, else the best available. Throws ValueError when
/// TAPESTRY_ISA is no name of an ISA, or one that this machine or build lacks.
Isa current_isa();

/// Switches, for tests and comparisons. Not while kernels run. Throws ValueError as above.
void set_isa(Isa isa);

}  // namespace tapestry
