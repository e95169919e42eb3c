// Which instruction set the kernels run on.
//
// The detection is our own: xsimd 8.1 reads the AVX bit from the wrong leaf and never asks whether
// the system saves the wide registers (XGETBV).
#pragma once

#include <string_view>
#include <vector>

namespace tapestry {

/// avx512_bf16 and avx512_amx are avx512 with products of bf16 by an instruction, VDPBF16PS or the
/// tiles' TDPBF16PS: all else of them is avx512's, bit for bit.
enum class Isa { baseline, avx2, avx512, avx512_bf16, avx512_amx, neon };

std::string_view name_of(Isa isa);

/// The instruction set whose kernels of f32 and f64 this one has: itself, but for those two.
constexpr Isa parent_of(Isa isa) {
    return isa == Isa::avx512_bf16 || isa == Isa::avx512_amx ? Isa::avx512 : isa;
}

/// The same of a name, which may be any text.
constexpr std::string_view parent_of(std::string_view isa) {
    return isa == "avx512_bf16" || isa == "avx512_amx" ? "avx512" : isa;
}

/// What this build and this machine both have, the plainest first.
std::vector<Isa> available_isas();

/// The one in use: TAPESTRY_ISA if set, else the best available, where avx512_bf16 counts only on
/// processors known to be faster with it. Throws ValueError when TAPESTRY_ISA is no name of an ISA,
/// or one that this machine or build lacks.
Isa current_isa();

/// Switches, for tests and comparisons. Not while kernels run. Throws ValueError as above.
void set_isa(Isa isa);

}  // namespace tapestry
