// The half-precision formats: round trips of every number, and every rounding boundary between
// neighbours.
#include <doctest/doctest.h>
#include <tapestry/core/half.h>

#include <cmath>
#include <cstdint>
#include <limits>

using namespace tapestry;

namespace {

struct Format {
    const char* name;
    std::uint16_t (*narrow)(double);
    double (*widen)(std::uint16_t);
    int exponent_bits, fraction_bits;
};

const Format kFormats[] = {{"f16", f16_bits, f64_from_f16, 5, 10},
                           {"bf16", bf16_bits, f64_from_bf16, 8, 7}};

// The value of `bits`, computed by definition.
double worth(const Format& format, std::uint32_t bits) {
    const int bias = (1 << (format.exponent_bits - 1)) - 1;
    const int exponent =
        static_cast<int>(bits >> format.fraction_bits) & ((1 << format.exponent_bits) - 1);
    const double fraction = std::ldexp(
        static_cast<double>(bits & ((1U << format.fraction_bits) - 1)), -format.fraction_bits);
    const double sign = (bits >> 15U) != 0 ? -1 : 1;
    if (exponent == (1 << format.exponent_bits) - 1) return fraction == 0 ? sign * INFINITY : NAN;
    if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias);
    return sign * std::ldexp(1 + fraction, exponent - bias);
}

bool same(double a, double b) {
    return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b));
}

}  // namespace

TEST_CASE("half: all 65536 numbers of both formats mean what the definition says, and come back") {
    for (const Format& format : kFormats) {
        CAPTURE(format.name);
        int wrong = 0, lost = 0, narrow_wrong = 0;
        for (std::uint32_t i = 0; i < 0x10000; ++i) {
            const auto bits = static_cast<std::uint16_t>(i);
            const double x = format.widen(bits);
            wrong += same(x, worth(format, i)) ? 0 : 1;
            const std::uint16_t back = format.narrow(x);
            // A NaN becomes quiet.
            const auto quiet = static_cast<std::uint16_t>(1U << (format.fraction_bits - 1));
            lost += back == (std::isnan(x) ? bits | quiet : bits) ? 0 : 1;
            const float f = format.narrow == f16_bits ? f32_from_f16(bits) : f32_from_bf16(bits);
            narrow_wrong += same(f, x) ? 0 : 1;
        }
        CHECK_EQ(wrong, 0);
        CHECK_EQ(lost, 0);
        CHECK_EQ(narrow_wrong, 0);
    }
}

TEST_CASE(
    "half: between any two neighbours the border is in the middle, and goes to the even one") {
    for (const Format& format : kFormats) {
        CAPTURE(format.name);
        int wrong = 0;
        const std::uint32_t infinity = ((1U << format.exponent_bits) - 1) << format.fraction_bits;
        for (std::uint32_t i = 0; i < infinity; ++i) {
            const double low = worth(format, i);
            // The number after the largest would be at the same distance.
            const double high =
                i + 1 < infinity ? worth(format, i + 1) : 2 * low - worth(format, i - 1);
            const double middle = (low + high) / 2;
            const std::uint32_t even = i % 2 == 0 ? i : i + 1;
            for (const std::uint32_t sign : {0U, 0x8000U}) {
                const double s = sign != 0 ? -1 : 1;
                wrong += format.narrow(s * middle) == (even | sign) ? 0 : 1;
                wrong += format.narrow(s * std::nextafter(middle, 0)) == (i | sign) ? 0 : 1;
                wrong +=
                    format.narrow(s * std::nextafter(middle, INFINITY)) == ((i + 1) | sign) ? 0 : 1;
            }
        }
        CHECK_EQ(wrong, 0);
    }
}

TEST_CASE("half: infinities, zeros and NaN") {
    for (const Format& format : kFormats) {
        CAPTURE(format.name);
        const auto there = [&](double x) { return format.widen(format.narrow(x)); };
        for (const double x : {1e39, 1e300, static_cast<double>(INFINITY)}) {
            CHECK(same(there(x), INFINITY));
            CHECK(same(there(-x), -INFINITY));
        }
        for (const double x : {0.0, 1e-50, 5e-324, std::numeric_limits<double>::min()}) {
            CHECK(same(there(x), 0.0));
            CHECK(same(there(-x), -0.0));
        }
        CHECK(std::isnan(there(NAN)));
        CHECK(std::signbit(there(-std::numeric_limits<double>::quiet_NaN())));
        // A NaN whose payload is only in the dropped bits must not become infinity.
        CHECK(std::isnan(there(std::bit_cast<double>(std::uint64_t{0x7ff0000000000001}))));
    }
}

TEST_CASE("half: elements of any type are rounded as single numbers are") {
    int wrong = 0;
    const auto check = [&wrong](float x) {
        wrong += Bf16(x).bits == bf16_bits(x) ? 0 : 1;  // the fast path against the slow one
        wrong += F16(x).bits == f16_bits(x) ? 0 : 1;
    };
    // Every bf16, its ties and their neighbours, including subnormals, infinities and NaNs of any
    // payload.
    for (std::uint32_t i = 0; i < 0x10000; ++i) {
        for (const std::uint32_t rest : {0U, 1U, 0x7fffU, 0x8000U, 0x8001U, 0xffffU}) {
            check(std::bit_cast<float>(i << 16U | rest));
        }
    }
    CHECK_EQ(wrong, 0);
    // 2^60 + 2^52 is a tie; one more is not, but would be after rounding to f64.
    constexpr std::int64_t kTie = (std::int64_t{1} << 60) + (std::int64_t{1} << 52);
    CHECK_EQ(static_cast<double>(Bf16(kTie)), 0x1p60);
    CHECK_EQ(static_cast<double>(Bf16(kTie + 1)), 0x1p60 + 0x1p53);
    CHECK_EQ(static_cast<double>(Bf16(kTie - 1)), 0x1p60);
    CHECK_EQ(static_cast<double>(Bf16(-kTie - 1)), -0x1p60 - 0x1p53);
    CHECK_EQ(static_cast<double>(Bf16(std::numeric_limits<std::int64_t>::min())), -0x1p63);
    CHECK_EQ(static_cast<double>(Bf16(true)), 1);
    CHECK_EQ(static_cast<double>(F16(2049)), 2048);
    CHECK(std::isinf(static_cast<float>(F16(std::numeric_limits<std::int64_t>::max()))));
}

TEST_CASE("half: by chance to a neighbour, as often as the number is near it") {
    for (const float sign : {1.0F, -1.0F}) {
        for (const std::uint32_t rest : {0U, 1U, 0x4000U, 0x8000U, 0xffffU}) {
            for (const std::uint32_t base : {0x3f80U, 0x3fffU, 0x0000U, 0x0001U, 0x7f7fU}) {
                const float x = sign * std::bit_cast<float>(base << 16U | rest);
                std::uint32_t away = 0, other = 0;
                for (std::uint32_t chance = 0; chance < 0x10000; chance += 0x3fU) {
                    const auto got = bf16_bits_by_chance(x, static_cast<std::uint16_t>(chance));
                    const bool rises = chance + rest >= 0x10000U;
                    away += rises ? 1 : 0;
                    const std::uint32_t wanted = base + (rises ? 1 : 0) + (sign < 0 ? 0x8000U : 0);
                    other += got == wanted ? 0 : 1;
                }
                CHECK_EQ(other, 0);
                CHECK_EQ(away > 0, rest > 0x3fU);
            }
        }
    }
    const auto kept = [](float x) { return f32_from_bf16(bf16_bits_by_chance(x, 0xffff)); };
    CHECK_EQ(kept(std::numeric_limits<float>::infinity()), std::numeric_limits<float>::infinity());
    CHECK(std::isnan(kept(std::bit_cast<float>(0x7fffffffU))));
    CHECK(std::isnan(kept(std::bit_cast<float>(0x7f800001U))));
}

TEST_CASE("half: at compile time, and from f64 in one step") {
    static_assert(f16_bits(1) == 0x3c00 && bf16_bits(1) == 0x3f80);
    static_assert(f16_bits(65504) == 0x7bff && f16_bits(65520) == 0x7c00);
    static_assert(rounded_to_bf16(0.1) == 0.10009765625 && rounded_to_f16(-2.5) == -2.5);
    // 1 + 2^-11 is a tie in f16; slightly more is not, but would be after rounding to f32.
    const double above = 1 + 0x1p-11 + 0x1p-40;
    CHECK_EQ(f16_bits(above), 0x3c01);
    CHECK_EQ(f16_bits(static_cast<double>(static_cast<float>(above))), 0x3c00);
}
