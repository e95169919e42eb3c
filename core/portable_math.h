// The few functions of real numbers that decide what is learned, with the same bits everywhere:
// random numbers, learning rates and Adam's corrections are made of them. C libraries differ in
// their last bits, and one that chooses fused multiply-adds when it is loaded differs from itself
// on another machine. Sums, products and quotients are all that is used here, and these IEEE 754
// prescribes to the last bit.
//
// Errors are below 0.8 units in the last place. Read next: random.cpp.
#pragma once

#include <cstdint>

namespace tapestry::portable {

/// The natural logarithm of a finite x > 0.
double log(double x);

struct SinCos {
    double sin;
    double cos;
};

/// For |x| <= 1e5.
SinCos sin_cos(double x);

inline double cos(double x) { return sin_cos(x).cos; }

/// x^n for 0 <= x <= 1 and n >= 0; 0^0 is 1.
double pow(double x, std::int64_t n);

}  // namespace tapestry::portable
