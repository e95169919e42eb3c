// 16-bit floating-point numbers: IEEE's half precision (binary16, "f16") and bfloat16 ("bf16", the
// upper half of an f32), as bits and as elements of tensors. They are storage formats only: this
// header rounds, and arithmetic happens in f32 or f64.
//
//              sign  exponent  fraction    largest    smallest normal   smallest
//     f16       1       5         10        65504        6.1e-5          6.0e-8
//     bf16      1       8          7       3.4e38       1.2e-38          9.2e-41
//
// Rounds to nearest, ties to even; beyond the largest number to infinity; below the smallest normal
// number gradually to 0. A NaN stays a NaN, with its sign and the top of its payload, and becomes
// quiet. Converts from f64 in one step: by way of f32, a number next to a tie would be rounded
// twice. At the end: stochastic rounding to bf16. Read next: ops/optimizer_step.cpp, which needs
// it.
//
// Source: IEEE 754-2019, 3.4 and 4.3.1; Intel 2018, "BFLOAT16 - Hardware Numerics Definition"
// (which flushes subnormals; these do not).
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

namespace tapestry {

namespace half_detail {

/// `value` without its lowest `by` bits, rounded to nearest, ties to even. 0 < by < 64.
constexpr std::uint64_t shifted_right(std::uint64_t value, int by) {
    const std::uint64_t half = std::uint64_t{1} << (by - 1);
    const std::uint64_t kept = value >> by;
    const std::uint64_t rest = value & (2 * half - 1);
    return kept + ((rest > half || (rest == half && (kept & 1U) != 0)) ? 1 : 0);
}

/// An f64 as a 16-bit number with `kExponent` and `kFraction` bits.
template <int kExponent, int kFraction>
constexpr std::uint16_t narrowed(double x) {
    constexpr int kWide = 52, kBias = (1 << (kExponent - 1)) - 1;
    constexpr std::uint64_t kInfinity = ((std::uint64_t{1} << kExponent) - 1) << kFraction;
    const auto bits = std::bit_cast<std::uint64_t>(x);
    const std::uint64_t sign = bits >> 63U << 15U;
    const std::uint64_t fraction = bits & ((std::uint64_t{1} << kWide) - 1);
    const int wide_exponent = static_cast<int>(bits >> kWide & 0x7ffU);
    if (wide_exponent == 0x7ff) {
        const std::uint64_t quiet = std::uint64_t{1} << (kFraction - 1);
        const std::uint64_t payload = fraction == 0 ? 0 : quiet | fraction >> (kWide - kFraction);
        return static_cast<std::uint16_t>(sign | kInfinity | payload);
    }
    const int exponent = wide_exponent - 1023 + kBias;
    if (exponent >= (1 << kExponent) - 1) return static_cast<std::uint16_t>(sign | kInfinity);
    // Rounding up may carry into the exponent, which is correct: the next number is a power of 2,
    // or infinity.
    if (exponent > 0) {
        const std::uint64_t whole = static_cast<std::uint64_t>(exponent) << kWide | fraction;
        return static_cast<std::uint16_t>(sign | shifted_right(whole, kWide - kFraction));
    }
    const int by = kWide - kFraction + 1 - exponent;  // f64's own subnormals are far below
    if (by > kWide + 1) return static_cast<std::uint16_t>(sign);
    const std::uint64_t whole = std::uint64_t{1} << kWide | fraction;
    return static_cast<std::uint16_t>(sign | shifted_right(whole, by));
}

/// The inverse, exact: a NaN keeps its payload and becomes quiet.
template <int kExponent, int kFraction>
constexpr double widened(std::uint16_t bits) {
    constexpr int kWide = 52, kBias = (1 << (kExponent - 1)) - 1;
    const std::uint64_t sign = std::uint64_t{bits} >> 15U << 63U;
    std::uint64_t fraction = bits & ((1U << kFraction) - 1);
    int exponent = bits >> kFraction & ((1 << kExponent) - 1);
    if (exponent == (1 << kExponent) - 1) {
        const std::uint64_t quiet = fraction == 0 ? 0 : std::uint64_t{1} << (kWide - 1);
        return std::bit_cast<double>(sign | std::uint64_t{0x7ff} << kWide | quiet |
                                     fraction << (kWide - kFraction));
    }
    if (exponent == 0) {
        if (fraction == 0) return std::bit_cast<double>(sign);
        const int leading = std::countl_zero(fraction) - (63 - kFraction);
        fraction = fraction << leading & ((1U << kFraction) - 1);
        exponent = 1 - leading;
    }
    const auto wide = static_cast<std::uint64_t>(exponent - kBias + 1023);
    return std::bit_cast<double>(sign | wide << kWide | fraction << (kWide - kFraction));
}

}  // namespace half_detail

/// The bits of the f16 or bf16 nearest to x.
constexpr std::uint16_t f16_bits(double x) { return half_detail::narrowed<5, 10>(x); }
constexpr std::uint16_t bf16_bits(double x) { return half_detail::narrowed<8, 7>(x); }

/// The same for an f32, whose upper half is a bf16: adding half a unit in the last place, less a
/// little if the last bit kept is 0, carries into that bit for anything beyond the middle.
constexpr std::uint16_t bf16_bits_of(float x) {
    const auto bits = std::bit_cast<std::uint32_t>(x);
    const std::uint32_t rounded = bits + 0x7fffU + (bits >> 16U & 1U);
    const bool nan = (bits & 0x7fffffffU) > 0x7f800000U;
    return static_cast<std::uint16_t>((nan ? bits | 0x400000U : rounded) >> 16U);
}

/// The value of such bits. Exact, also as an f32.
constexpr double f64_from_f16(std::uint16_t bits) { return half_detail::widened<5, 10>(bits); }
constexpr double f64_from_bf16(std::uint16_t bits) { return half_detail::widened<8, 7>(bits); }
constexpr float f32_from_f16(std::uint16_t bits) { return static_cast<float>(f64_from_f16(bits)); }
constexpr float f32_from_bf16(std::uint16_t bits) {
    return std::bit_cast<float>(std::uint32_t{bits} << 16U);
}

/// x after rounding to 16 bits and back.
constexpr double rounded_to_f16(double x) { return f64_from_f16(f16_bits(x)); }
constexpr double rounded_to_bf16(double x) { return f64_from_bf16(bf16_bits(x)); }

// ---- as elements --------------------------------------------------------------------------------

namespace half_detail {

/// An integer as an f64 that rounds to 16 bits as the integer would: where 64 bits do not fit into
/// 53, any bit lost sets the last place, so no number becomes a tie.
constexpr double as_f64(std::int64_t x) {
    constexpr std::int64_t kExact = std::int64_t{1} << 53, kLost = (1 << 11) - 1;
    if (x >= -kExact && x <= kExact) return static_cast<double>(x);
    return static_cast<double>((x & ~kLost) | ((x & kLost) != 0 ? kLost + 1 : 0));
}

}  // namespace half_detail

/// An element of a bf16 tensor: rounds on construction, reads as f32.
struct Bf16 {
    std::uint16_t bits;  ///< 1 bit of sign, 8 of exponent, 7 of fraction

    Bf16() = default;
    /// Rounds x to the nearest bf16, ties to even.
    template <class T>
    requires std::is_arithmetic_v<T>
    explicit constexpr Bf16(T x) : bits(0) {
        if constexpr (std::is_same_v<T, float>) {
            bits = bf16_bits_of(x);
        } else if constexpr (std::is_integral_v<T>) {
            bits = bf16_bits(half_detail::as_f64(static_cast<std::int64_t>(x)));
        } else {
            bits = bf16_bits(x);
        }
    }
    constexpr operator float() const { return f32_from_bf16(bits); }  ///< the value; exact
};

/// The same for f16.
struct F16 {
    std::uint16_t bits;  ///< 1 bit of sign, 5 of exponent, 10 of fraction

    F16() = default;
    /// Rounds x to the nearest f16, ties to even.
    template <class T>
    requires std::is_arithmetic_v<T>
    explicit constexpr F16(T x)
        : bits(f16_bits(static_cast<double>(x))) {}  // f64 only rounds beyond the largest f16
    constexpr operator float() const { return f32_from_f16(bits); }  ///< the value; exact
};

// ---- stochastic rounding ------------------------------------------------------------------------
// For numbers whose changes are smaller than the distance between neighbouring bf16 values:
// rounding to nearest would lose such a change every time.

/// Rounds x stochastically to one of its two neighbours in bf16. `chance` is a uniform draw from 0
/// .. 65535; the share of draws that round away from 0 is the fraction of the way that x has
/// covered, so the mean is x. A bf16 value is unchanged for every draw; a NaN becomes quiet.
constexpr std::uint16_t bf16_bits_by_chance(float x, std::uint16_t chance) {
    const auto bits = std::bit_cast<std::uint32_t>(x);
    const bool nan = (bits & 0x7fffffffU) > 0x7f800000U;
    return static_cast<std::uint16_t>((nan ? bits | 0x400000U : bits + chance) >> 16U);
}

}  // namespace tapestry
