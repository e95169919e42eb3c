// Rounding to bf16 by chance, for numbers that are changed by less than lies between two of its
// own: to nearest, such a change would be lost again and again. Read next: ops/adam_in_bf16.h.
#pragma once

#include <bit>
#include <cstdint>

namespace tapestry {

/// One of the two numbers of bf16 that x lies between, by chance: `chance` of 0 .. 65535 is drawn,
/// and away from 0 goes that share of all draws which x has covered of the way, so that the mean is
/// x. A number of bf16 stays itself, whatever is drawn; a NaN becomes quiet.
constexpr std::uint16_t bf16_bits_by_chance(float x, std::uint16_t chance) {
    const auto bits = std::bit_cast<std::uint32_t>(x);
    const bool nan = (bits & 0x7fffffffU) > 0x7f800000U;
    return static_cast<std::uint16_t>((nan ? bits | 0x400000U : bits + chance) >> 16U);
}

}  // namespace tapestry
