// How far rounding inside a function moves its values, where the last bits of its inputs do not
// show it: a function that works in f32, prints its result, or stops iterating when it is near
// enough is constant for a while and then jumps.
//
// Of values at equal distances the differences of differences are taken, again and again: what is
// smooth dies away in them and noise grows in a known way, so that both can be told apart.
//
// Source: More and Wild 2011, "Estimating computational noise" (ECnoise).
//
// And the slope of a function that is noisy: many values, and least squares. A difference quotient
// bears the noise of two values; of 128 values the noise averages out, and by what is left over one
// sees how large it was.
//
//     f(t) = c0 + c1 t + c2 t^2 + c3 t^3 + ... + noise
//
// Internal to autograd/check. Read next: slope.cpp, which asks before it says a claim is wrong, and
// where quotients say too little.
#pragma once

#include <tapestry/autograd/check/quotients.h>

#include <optional>

namespace tapestry::checker {

/// The noise in <weights, f> at the smallest distance at which f moves; 0 where there is none.
double noise_along(Line& line, const std::vector<double>& weights);

/// The largest jump nearby, as that of an iteration which takes one round more; 0 where none is
/// found. Takes more values, some 250. What `noise` explains is no jump.
double jump_along(Line& line, const std::vector<double>& weights, double noise = 0);

/// c1 with its error, from steps of the size that makes the error smallest; nothing where f takes
/// other branches or is no number. Some 500 values. `epsilon`: that of the format which outputs are
/// rounded to; 0 for f64.
std::optional<Attempt> fitted_slope(Line& line, const std::vector<double>& weights,
                                    double epsilon = 0);

}  // namespace tapestry::checker
