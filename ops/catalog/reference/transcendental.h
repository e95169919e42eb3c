// Functions that dual numbers lack, by those they have where a textbook does so, else with the
// derivative that it gives.
#pragma once

#include <tapestry/autograd/check/dual.h>

namespace tapestry::reference {

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

/// The arc functions turn these around: where f(y) = x, dy = dx / f'(y).
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
