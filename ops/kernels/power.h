// a^b. Included only by kernel files (it needs simd.h); the functor is declared in binary.h.
//
// e^(b ln |a|), with b ln |a| more precise than the result: an error of it is one of the exponent,
// and so a relative error of the result, up to 745 times as large. f32 is computed in f64; f64 as
// the sum of two numbers, of 106 bits. Both are within one unit in the last place before they are
// rounded, so a power that the type can represent is exact.
// Source: Dekker 1971, "A floating-point technique for extending the available precision"; the
// series are those of log and exp (Muller, Elementary Functions, 2016, chapters 5 and 11).
#pragma once

#include <tapestry/ops/kernels/binary.h>
#include <tapestry/ops/kernels/simd.h>

namespace tapestry::kernels {
namespace TAPESTRY_ISA_NAME {

// ---- numbers of twice the precision -------------------------------------------------------------

using F64 = Batch<double>;

/// high + low, where |low| is at most half a unit in the last place of high.
struct Wider {
    F64 high, low;
};

/// a + b, exactly (Knuth).
inline Wider exact_sum(const F64& a, const F64& b) {
    const F64 sum = a + b;
    const F64 of_b = sum - a;
    return {sum, (a - (sum - of_b)) + (b - of_b)};
}

/// The upper 26 bits of a, |a| < 2^996, and the rest.
inline Wider halves(const F64& a) {
    const F64 c = rounded<double>(a * F64(0x1p27 + 1));
    const F64 high = c - (c - a);
    return {high, a - high};
}

/// a b, exactly. The products of halves are exact, so it does not matter which the compiler fuses.
inline Wider exact_product(const F64& a, const F64& b) {
    const F64 product = rounded<double>(a * b);
    const Wider x = halves(a), y = halves(b);
    const F64 rest = ((x.high * y.high - product) + x.high * y.low) + x.low * y.high;
    return {product, rest + x.low * y.low};
}

inline Wider add(const Wider& a, const Wider& b) {
    const Wider sum = exact_sum(a.high, b.high);
    return exact_sum(sum.high, sum.low + (a.low + b.low));
}

inline Wider multiply(const Wider& a, const Wider& b) {
    const Wider product = exact_product(a.high, b.high);
    return exact_sum(product.high, product.low + (a.high * b.low + a.low * b.high));
}

// ---- exponents ----------------------------------------------------------------------------------

constexpr double kLn2High = 0x1.62e42fefa3p-1;  // its product with an exponent is exact
constexpr double kLn2Low = 0x1.3de6af278ece6p-42;

/// x = m 2^exponent with m in [sqrt(1/2), sqrt(2)), for finite x > 0.
struct Scaled {
    F64 m, exponent;
};

inline Scaled scaled(const F64& x) {
    constexpr std::int64_t kRootOfHalf = 0x3fe6a09e667f3bcd;
    const auto subnormal = x < F64(0x1p-1022);
    alignas(64) double value[kLanes<double>], exponent[kLanes<double>];
    select(subnormal, x * F64(0x1p54), x).store_aligned(value);
    for (std::int64_t i = 0; i < kLanes<double>; ++i) {
        std::int64_t bits = 0;
        __builtin_memcpy(&bits, value + i, sizeof bits);
        const std::int64_t power = (bits - kRootOfHalf) >> 52;
        bits -= power * (std::int64_t{1} << 52);
        __builtin_memcpy(value + i, &bits, sizeof bits);
        exponent[i] = static_cast<double>(power);
    }
    const F64 lifted = select(subnormal, F64(54), F64(0));
    return {F64::load_aligned(value), F64::load_aligned(exponent) - lifted};
}

/// 2^q, for whole q from -1022 to 1023.
inline F64 two_to(const F64& q) {
    alignas(64) double value[kLanes<double>];
    q.store_aligned(value);
    for (std::int64_t i = 0; i < kLanes<double>; ++i) {
        const std::int64_t bits =
            (static_cast<std::int64_t>(value[i]) + 1023) * (std::int64_t{1} << 52);
        __builtin_memcpy(value + i, &bits, sizeof bits);
    }
    return F64::load_aligned(value);
}

// ---- log, exp -----------------------------------------------------------------------------------

/// ln x = exponent ln 2 + 2 artanh f, f = (m - 1) / (m + 1): 2f + 2/3 f^3 + f^5 (2/5 + ...)
inline Wider precise_log(const F64& x) {
    const Scaled s = scaled(x);
    const F64 above = s.m - F64(1);  // exact
    const Wider below = exact_sum(s.m, F64(1));
    const F64 quotient = above / below.high;
    const Wider back = exact_product(quotient, below.high);
    const F64 rest = ((above - back.high) - back.low) - quotient * below.low;
    const Wider f = exact_sum(quotient, rest / below.high);
    const Wider f2 = multiply(f, f), f3 = multiply(f, f2);
    const F64 series = polynomial(f2.high, 2.0 / 25, 2.0 / 23, 2.0 / 21, 2.0 / 19, 2.0 / 17,
                                  2.0 / 15, 2.0 / 13, 2.0 / 11, 2.0 / 9, 2.0 / 7, 2.0 / 5);
    const Wider two_thirds{F64(0x1.5555555555555p-1), F64(0x1.5555555555555p-55)};
    const Wider cubic = multiply(f3, two_thirds);
    const Wider linear{f.high + f.high, f.low + f.low};
    const Wider power{s.exponent * F64(kLn2High), s.exponent * F64(kLn2Low)};
    const Wider sum = add(add(exact_sum(power.high, power.low), linear), cubic);
    return add(sum, {f3.high * f2.high * series, F64(0)});
}

/// e^x = 2^q e^r with |r| <= ln 2 / 2, by the series up to r^13 / 13!.
inline F64 precise_exp(const Wider& x) {
    const F64 high = max(min(x.high, F64(800)), F64(-800));
    const F64 low = select(high == x.high, x.low, F64(0));
    const F64 q = nearbyint(high * F64(1.44269504088896340736));
    const Wider nearly = exact_sum(high, -(q * F64(kLn2High)));
    const Wider r = exact_sum(nearly.high, nearly.low + (low - q * F64(kLn2Low)));
    const F64 series =
        polynomial(r.high, 1.0 / 6227020800, 1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800,
                   1.0 / 362880, 1.0 / 40320, 1.0 / 5040, 1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6);
    const Wider square = multiply(r, r);
    const Wider half{square.high * F64(0.5), square.low * F64(0.5)};
    const Wider cubic{square.high * r.high * series, F64(0)};
    const Wider y = add(exact_sum(F64(1), r.high), add({r.low, F64(0)}, add(half, cubic)));
    const F64 first = nearbyint(q * F64(0.5));  // in two steps: 2^q may be subnormal or infinite
    return (y.high + y.low) * two_to(first) * two_to(q - first);
}

// ---- |a|^b --------------------------------------------------------------------------------------

inline F64 power_of_size(const F64& size, const F64& b) {
    const F64 limit(0x1p64);  // |b| beyond: 0, 1 or infinity
    const F64 exponent = max(min(b, limit), -limit);
    const Wider log = precise_log(size);
    const Wider product = exact_product(log.high, exponent);
    return precise_exp(exact_sum(product.high, product.low + log.low * exponent));
}

inline Batch<float> power_of_size(const Batch<float>& size, const Batch<float>& b) {
    alignas(64) float x[kLanes<float>], y[kLanes<float>];
    size.store_aligned(x);
    b.store_aligned(y);
    for (std::int64_t i = 0; i < kLanes<float>; i += kLanes<double>) {
        alignas(64) double base[kLanes<double>], exponent[kLanes<double>];
        for (std::int64_t j = 0; j < kLanes<double>; ++j) {
            base[j] = static_cast<double>(x[i + j]);
            exponent[j] = static_cast<double>(y[i + j]);
        }
        exp(F64::load_aligned(exponent) * log(F64::load_aligned(base))).store_aligned(base);
        for (std::int64_t j = 0; j < kLanes<double>; ++j) x[i + j] = static_cast<float>(base[j]);
    }
    return Batch<float>::load_aligned(x);
}

}  // namespace TAPESTRY_ISA_NAME

/// Special values and signs are C's (C11, F.10.4.4).
template <class B>
B Pow::apply(const B& a, const B& b) {
    const B zero = constant<B>(0);
    const B one = constant<B>(1);
    const B infinity = constant<B>(__builtin_inf());
    const B size = abs(a);
    const auto vanishes = size == zero;
    const auto endless = size == infinity;
    const auto grows = (vanishes & (b < zero)) | (endless & (b > zero));
    const auto negative = (a < zero) | (one / a < zero);  // 1 / -0 is -inf
    const B evens = constant<B>(sizeof(typename B::value_type) == 4 ? 0x1p24 : 0x1p53);
    const B extreme = select(grows, infinity, zero);
    // Beyond `evens` all numbers are even, and is_odd(b) fails because b - 1 rounds to b. Not -y:
    // on AVX-512 xsimd 8.1 negates as 0 - x, which gives 0 for 0, not -0.
    const auto huge = abs(b) >= evens;
    B y = TAPESTRY_ISA_NAME::power_of_size(size, b);
    y = select(vanishes | endless, extreme, y);
    y = y * select(negative & is_odd(b) & !huge, -one, one);
    const auto undefined = (a < zero) & !endless & !(is_flint(b) | huge);
    y = select(undefined, constant<B>(__builtin_nan("")), y);
    y = select(b == b, select(a == a, y, a), b);
    const auto always_one = (b == zero) | (a == one) | ((size == one) & (abs(b) == infinity));
    return select(always_one, one, y);
}

}  // namespace tapestry::kernels
