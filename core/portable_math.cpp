// Double-double arithmetic where a rounding error would show, and series with small terms for the
// rest. Fused multiply-adds would change the bits: the compiler makes none outside the kernels
// (cmake/flags.cmake).
#include <tapestry/core/portable_math.h>

#include <array>
#include <cmath>
#include <cstddef>

namespace tapestry::portable {
namespace {

/// high + low, not rounded; low is at most half a unit in the last place of high.
struct Double2 {
    double high;
    double low;
};

/// a + b, exactly. Source: Knuth, "The Art of Computer Programming", volume 2, 4.2.2.
Double2 sum(double a, double b) {
    const double high = a + b;
    const double b_part = high - a;
    const double a_part = high - b_part;
    return {high, (a - a_part) + (b - b_part)};
}

/// x split into two parts of at most 26 bits. Source: Dekker, "A floating-point technique for
/// extending the available precision" (1971), also for the functions below.
Double2 halves(double x) {
    const double scaled = 0x1.0000002p27 * x;  // 2^27 + 1
    const double high = scaled - (scaled - x);
    return {high, x - high};
}

/// a b, exactly, unless its last bits are below the smallest number.
Double2 product(double a, double b) {
    const double high = a * b;
    const Double2 x = halves(a), y = halves(b);
    const double low = ((x.high * y.high - high) + x.high * y.low + x.low * y.high) + x.low * y.low;
    return {high, low};
}

Double2 product(const Double2& a, const Double2& b) {
    const Double2 p = product(a.high, b.high);
    return sum(p.high, p.low + (a.high * b.low + a.low * b.high));
}

/// The value of a polynomial; the first coefficient is that of x^0.
template <std::size_t N>
double polynomial(const std::array<double, N>& coefficients, double x) {
    double value = 0;
    for (std::size_t k = N; k-- > 0;) value = value * x + coefficients[k];
    return value;
}

/// 1/3, 1/5, ...: log((1 + s) / (1 - s)) = 2 s (1 + s^2 (1/3 + s^2 / 5 + ...)).
constexpr auto kLogSeries = [] {
    std::array<double, 12> series{};
    for (std::size_t k = 0; k < series.size(); ++k) series[k] = 1 / static_cast<double>(2 * k + 3);
    return series;
}();

/// Every other coefficient of e^x with alternating signs, beginning with that of x^first.
constexpr auto alternating = [](std::size_t first) {
    std::array<double, 9> series{};
    double factorial = 1, sign = first / 2 % 2 == 0 ? 1 : -1;
    std::size_t n = 1;
    for (double& coefficient : series) {
        for (; n <= first; ++n) factorial *= static_cast<double>(n);  // exact up to 22!
        coefficient = sign / factorial;
        first += 2;
        sign = -sign;
    }
    return series;
};
constexpr auto kSinSeries = alternating(3);  // -1/3!, 1/5!, ...
constexpr auto kCosSeries = alternating(4);  // 1/4!, -1/6!, ...

/// x less a multiple of pi / 2; `quarter` is that multiple modulo 4.
struct Reduced {
    Double2 angle;  ///< at most pi / 4
    int quarter;
};

// pi / 2 in three parts, the first two of 33 bits: small multiples of them are exact.
Reduced reduced(double x) {
    constexpr double kFirst = 0x1.921fb544p0, kSecond = 0x1.0b4611a6p-34,
                     kThird = 0x1.3198a2e037073p-69;
    constexpr double kRound = 0x1.8p52;  // its unit in the last place is 1
    const double n = (x * 0x1.45f306dc9c883p-1 + kRound) - kRound;
    const Double2 near = sum(x - n * kFirst, -(n * kSecond));
    const Double2 angle = sum(near.high, near.low - n * kThird);
    return {angle, static_cast<int>(n) & 3};
}

double sin_near_0(const Double2& x) {
    const double square = x.high * x.high;
    const double rest = x.high * (square * polynomial(kSinSeries, square));
    return x.high + (rest + x.low * (1 - square / 2));
}

double cos_near_0(const Double2& x) {
    const double square = x.high * x.high;
    const double half = square / 2;
    const double high = 1 - half;
    const double lost = (1 - high) - half;
    const double rest = square * (square * polynomial(kCosSeries, square));
    return high + (lost + (rest - x.high * x.low));
}

}  // namespace

// With x = 2^e m and m between the roots of 1/2 and 2: log x = e log 2 + log m, where s = (m - 1) /
// (m + 1) is kept with its rounding error.
double log(double x) {
    constexpr double kLog2High = 0x1.62e42feep-1;  // 32 bits: exact times any exponent
    constexpr double kLog2Low = 0x1.a39ef35793c76p-33;
    int exponent = 0;
    double m = std::frexp(x, &exponent);
    if (m < 0.70710678118654752) {
        m *= 2;
        --exponent;
    }
    const auto e = static_cast<double>(exponent);
    const double numerator = m - 1;
    const Double2 denominator = sum(m, 1);
    const double s = numerator / denominator.high;
    const Double2 back = product(s, denominator.high);
    const double s_low =
        (((numerator - back.high) - back.low) - s * denominator.low) / denominator.high;
    const double square = s * s;
    const double series = s * (square * polynomial(kLogSeries, square));
    const Double2 first = sum(e * kLog2High, 2 * s);
    return first.high + (first.low + (e * kLog2Low + 2 * (s_low + series)));
}

SinCos sin_cos(double x) {
    const auto [angle, quarter] = reduced(x);
    const double s = sin_near_0(angle);
    const double c = cos_near_0(angle);
    switch (quarter) {
        case 0: return {s, c};
        case 1: return {c, -s};
        case 2: return {-s, -c};
        default: return {-c, s};
    }
}

// By repeated squaring; the error grows with n: for a millionth power it is a unit of the 80th bit.
double pow(double x, std::int64_t n) {
    Double2 result{1, 0}, square{x, 0};
    for (; n > 0; n /= 2) {
        if (n % 2 != 0) result = product(result, square);
        square = product(square, square);
    }
    return result.high;
}

}  // namespace tapestry::portable
