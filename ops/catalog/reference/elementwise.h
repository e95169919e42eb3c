// Functions of one variable by their textbook formulas.
#pragma once

#include <tapestry/ops/catalog/reference/array.h>

namespace tapestry::reference {

template <class T>
T sigmoid(T x) {
    using std::exp;
    return T(1) / (T(1) + exp(-x));
}

template <class T>
T relu(T x) {
    return x > T(0) ? x : T(0);
}

template <class T>
T relu_squared(T x) {
    return relu(x) * relu(x);
}

template <class T>
T silu(T x) {
    return x * sigmoid(x);
}

template <class T>
T softplus(T x) {
    using std::exp, std::log;
    return log(T(1) + exp(x));
}

/// x Phi(x)
template <class T>
T gelu_erf(T x) {
    using std::erf;
    return x * T(0.5) * (T(1) + erf(x / T(std::sqrt(2.0))));
}

/// x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) / 2
template <class T>
T gelu_tanh(T x) {
    using std::tanh;
    const T u = T(std::sqrt(2 / M_PI)) * (x + T(0.044715) * x * x * x);
    return T(0.5) * x * (T(1) + tanh(u));
}

template <class T>
T leaky_relu(T x, double slope) {
    return x > T(0) ? x : T(slope) * x;
}

template <class T>
T elu(T x, double alpha) {
    using std::exp;
    return x > T(0) ? x : T(alpha) * (exp(x) - T(1));
}

template <class T>
T clamp(T x, double low, double high) {
    return x < T(low) ? T(low) : x > T(high) ? T(high) : x;
}

template <class T>
T softsign(T x) {
    using std::abs;
    return x / (T(1) + abs(x));
}

template <class T>
T mish(T x) {
    using std::tanh;
    return x * tanh(softplus(x));
}

// ---- functions that Dual lacks ------------------------------------------------------------------
// Composed of functions that it has if a textbook does so, else by the textbook's derivative.

template <class T>
T sinh(T x) {
    using std::exp;
    return (exp(x) - exp(-x)) / T(2);
}

template <class T>
T cosh(T x) {
    using std::exp;
    return (exp(x) + exp(-x)) / T(2);
}

/// Inverse functions: if f(y) = x, dy = dx / f'(y).
inline double atan2(double y, double x) { return std::atan2(y, x); }
inline Dual atan2(const Dual& y, const Dual& x) {
    const double square = x.value * x.value + y.value * y.value;
    return {std::atan2(y.value, x.value), (x.value * y.slope - y.value * x.slope) / square};
}

template <class T>
T atan(T x) {
    return atan2(x, T(1));
}

template <class T>
T asin(T x) {
    using std::sqrt;
    return atan2(x, sqrt(T(1) - x * x));
}

template <class T>
T acos(T x) {
    using std::sqrt;
    return atan2(sqrt(T(1) - x * x), x);
}

}  // namespace tapestry::reference
