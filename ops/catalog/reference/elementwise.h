// Functions of one number, as a textbook has them.
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

}  // namespace tapestry::reference
