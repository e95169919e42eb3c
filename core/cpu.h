// Which instruction set the kernels run on.
//
// The detection is our own: xsimd 8.1 reads the AVX bit from the wrong leaf and never checks
// whether the system saves the wide registers (XGETBV).
#pragma once

#include <string_view>
#include <vector>

namespace tapestry {

/// Instruction sets of the kernels. avx512_bf16 and avx512_amx are avx512 with bf16 matrix products
/// by a dedicated instruction, VDPBF16PS or the tiles' TDPBF16PS: everything else is avx512's, bit
/// for bit.
enum class Isa {
    baseline,     ///< what every processor of the family has: SSE2 on x86-64
    avx2,         ///< x86-64 with AVX2 and FMA
    avx512,       ///< x86-64 with AVX-512
    avx512_bf16,  ///< avx512 with bf16 products by VDPBF16PS
    avx512_amx,   ///< avx512 with bf16 products by AMX's tiles
    neon          ///< AArch64
};

/// "avx2": the name that TAPESTRY_ISA takes and messages use.
std::string_view name_of(Isa isa);

/// The instruction set whose f32 and f64 kernels `isa` uses: itself, except for those two.
constexpr Isa parent_of(Isa isa) {
    return isa == Isa::avx512_bf16 || isa == Isa::avx512_amx ? Isa::avx512 : isa;
}

/// The same for a name, which may be any text.
constexpr std::string_view parent_of(std::string_view isa) {
    return isa == "avx512_bf16" || isa == "avx512_amx" ? "avx512" : isa;
}

/// The instruction sets that both this build and this machine support, the simplest first.
std::vector<Isa> available_isas();

/// The one in use: TAPESTRY_ISA if set, else the best available, where avx512_bf16 counts only on
/// processors known to be faster with it. Throws ValueError if TAPESTRY_ISA is not the name of an
/// ISA, or names one that this machine or build lacks.
Isa current_isa();

/// Switches the instruction set, for tests and comparisons. Do not call while kernels run. Throws
/// ValueError as above.
void set_isa(Isa isa);

}  // namespace tapestry
