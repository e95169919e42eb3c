// How far rounding inside a function moves its values, where the last bits of its inputs do not
// show it: a function that works in f32, prints its result, or stops iterating when it is near
// enough is constant for a while and then jumps.
//
// Of values at equal distances the differences of differences are taken, again and again: what is
// smooth dies away in them and noise grows in a known way, so that both can be told apart.
//
// Source: More and Wild 2011, "Estimating computational noise" (ECnoise).
// Internal to autograd/check. Read next: slope.cpp, which asks before it says a claim is wrong.
#pragma once

#include <tapestry/autograd/check/line.h>

namespace tapestry::checker {

/// The noise in <weights, f> at the smallest distance at which f moves; 0 where there is none.
double noise_along(Line& line, const std::vector<double>& weights);

/// The largest jump nearby, as that of an iteration which takes one round more; 0 where none is
/// found. Takes more values, some 250. What `noise` explains is no jump.
double jump_along(Line& line, const std::vector<double>& weights, double noise = 0);

}  // namespace tapestry::checker
