// Dual numbers: a + b e with e^2 = 0. A function evaluated with them gives its value and its exact
// derivative along one direction, without a step size. Source: Clifford 1873; Griewank and Walther,
// "Evaluating Derivatives", chapter 3.
#pragma once

#include <cmath>
#include <cstdint>

namespace tapestry {

/// a + b e. Operators and functions follow from e^2 = 0: f(a + b e) = f(a) + f'(a) b e.
struct Dual {
    double value = 0;  ///< a
    double slope = 0;  ///< b: the derivative along the direction

    Dual() = default;
    /// A constant, with slope 0.
    Dual(double v) : value(v) {}                        // NOLINT: a constant is a dual number
    Dual(double v, double s) : value(v), slope(s) {}    ///< {a, b}
    explicit operator double() const { return value; }  ///< the value, without the slope
    /// The value, rounded towards 0.
    explicit operator std::int64_t() const { return static_cast<std::int64_t>(value); }

    /// As `a = a OP b`.
    Dual& operator+=(const Dual& b) { return *this = *this + b; }
    /// As `a = a OP b`.
    Dual& operator-=(const Dual& b) { return *this = *this - b; }
    /// As `a = a OP b`.
    Dual& operator*=(const Dual& b) { return *this = *this * b; }
    /// As `a = a OP b`.
    Dual& operator/=(const Dual& b) { return *this = *this / b; }

    friend Dual operator-(const Dual& a) { return {-a.value, -a.slope}; }  ///< slope -a'
    /// slope a' + b'.
    friend Dual operator+(const Dual& a, const Dual& b) {
        return {a.value + b.value, a.slope + b.slope};
    }
    /// slope a' - b'.
    friend Dual operator-(const Dual& a, const Dual& b) {
        return {a.value - b.value, a.slope - b.slope};
    }
    /// slope a' b + a b'.
    friend Dual operator*(const Dual& a, const Dual& b) {
        return {a.value * b.value, a.slope * b.value + a.value * b.slope};
    }
    /// slope (a' - (a / b) b') / b.
    friend Dual operator/(const Dual& a, const Dual& b) {
        const double q = a.value / b.value;
        return {q, (a.slope - q * b.slope) / b.value};
    }

    // Comparisons only use the values, so branches follow the values.
    /// Compares the values only.
    friend bool operator==(const Dual& a, const Dual& b) { return a.value == b.value; }
    /// Compares the values only.
    friend bool operator!=(const Dual& a, const Dual& b) { return a.value != b.value; }
    /// Compares the values only.
    friend bool operator<(const Dual& a, const Dual& b) { return a.value < b.value; }
    /// Compares the values only.
    friend bool operator<=(const Dual& a, const Dual& b) { return a.value <= b.value; }
    /// Compares the values only.
    friend bool operator>(const Dual& a, const Dual& b) { return a.value > b.value; }
    /// Compares the values only.
    friend bool operator>=(const Dual& a, const Dual& b) { return a.value >= b.value; }
};

/// Elementary functions with their derivatives. abs has slope 0 at 0.
inline Dual exp(const Dual& x) {
    const double y = std::exp(x.value);
    return {y, y * x.slope};
}
inline Dual log(const Dual& x) { return {std::log(x.value), x.slope / x.value}; }
inline Dual sqrt(const Dual& x) {
    const double y = std::sqrt(x.value);
    return {y, x.slope / (2 * y)};
}
inline Dual sin(const Dual& x) { return {std::sin(x.value), std::cos(x.value) * x.slope}; }
inline Dual cos(const Dual& x) { return {std::cos(x.value), -std::sin(x.value) * x.slope}; }
inline Dual tanh(const Dual& x) {
    const double y = std::tanh(x.value);
    return {y, (1 - y * y) * x.slope};
}
inline Dual erf(const Dual& x) {  // d/dx = 2 / sqrt(pi) e^(-x^2)
    return {std::erf(x.value), 1.12837916709551257390 * std::exp(-x.value * x.value) * x.slope};
}
inline Dual abs(const Dual& x) {
    const double sign = (x.value > 0) - (x.value < 0);
    return {std::abs(x.value), sign * x.slope};
}
/// a^b; the slope along b is taken as 0 at a = 0, and that along a as 0 at b = 0.
inline Dual pow(const Dual& a, const Dual& b) {
    const double y = std::pow(a.value, b.value);
    double slope = 0;
    if (b.value != 0 && a.slope != 0) slope += b.value * std::pow(a.value, b.value - 1) * a.slope;
    if (a.value != 0 && b.slope != 0) slope += y * std::log(a.value) * b.slope;
    return {y, slope};
}
/// Whether the value is NaN.
inline bool isnan(const Dual& x) { return std::isnan(x.value); }

}  // namespace tapestry
