// The few real functions that determine what a model learns, with the same bits everywhere: random
// numbers, learning rates and Adam's corrections are computed with them. C libraries differ in
// their last bits, and one that selects fused multiply-adds at load time even differs from itself
// on another machine. These functions only use sums, products and quotients, which IEEE 754
// prescribes to the last bit.
//
// Errors are below 0.8 units in the last place. Read next: random.cpp.
#pragma once

#include <cstdint>

namespace tapestry::portable {

/// The natural logarithm of a finite x > 0.
double log(double x);

/// The sine and cosine of one angle, in radians.
struct SinCos {
    double sin;  ///< sine
    double cos;  ///< cosine
};

/// For |x| <= 1e5.
SinCos sin_cos(double x);

/// The cosine of x in radians, for |x| <= 1e5.
inline double cos(double x) { return sin_cos(x).cos; }

/// x^n for 0 <= x <= 1 and n >= 0; 0^0 is 1.
double pow(double x, std::int64_t n);

}  // namespace tapestry::portable
