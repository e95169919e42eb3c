// Measures how far rounding inside a function moves its values when the last bits of its inputs do
// not show it: a function that computes in f32, prints its result, or stops iterating when it is
// close enough is constant over a stretch and then jumps.
//
// From values at equal distances it takes differences of differences, repeatedly: smooth parts
// vanish in them and noise grows in a known way, so the two can be separated.
//
// Source: More and Wild 2011, "Estimating computational noise" (ECnoise).
//
// Also the slope of a noisy function, by least squares over many values. A difference quotient
// contains the noise of two values; over 128 values the noise averages out, and the residual shows
// its size.
//
//     f(t) = c0 + c1 t + c2 t^2 + c3 t^3 + ... + noise
//
// Internal to autograd/check. Read next: slope.cpp, which uses this before it calls a claim wrong,
// and where quotients are too inaccurate.
#pragma once

#include <tapestry/autograd/check/slope.h>

#include <functional>
#include <vector>

namespace tapestry::checker {

/// The noise in <weights, f> at the smallest distance at which f moves; 0 if there is none, and
/// negative if f moves at none.
double noise_along(Line& line, const std::vector<double>& weights);

/// The largest jump nearby, for example of an iteration that takes one more round; 0 if none is
/// found. Evaluates more values: up to 400 at each of three distances, or at the one where jumps
/// everywhere show. Anything that `noise` explains is not a jump.
double jump_along(Line& line, const std::vector<double>& weights, Jumps jumps, double noise = 0);

/// The largest jump up to `far` from x; 0 if none is found.
double jump_within(Line& line, const std::vector<double>& weights, double noise, double far);
/// The largest of the jumps above x and below it, the nearer one up to `far`; 0 if there are none
/// on one side. Jumps that are everywhere are on both sides: then a function that rounds coarsely
/// may have any slope between two of them. One threshold next to x explains no slope at x.
double jump_on_both_sides(Line& line, const std::vector<double>& weights, double noise, double far);

/// c1 with its error from several step sizes, the smallest error first; none where f takes other
/// branches or is not finite. About 500 values. `format`: that to which outputs are rounded.
/// `is_enough`: a fit after which no smaller steps are tried; it is the only one then.
std::vector<Attempt> fitted_slopes(Line& line, const std::vector<double>& weights,
                                   Format format = Format::f64,
                                   const std::function<bool(const Attempt&)>& is_enough = {});
/// The same from 24 values up to a distance h (in a narrow format 48); nullopt beyond the line's
/// reach.
std::optional<Attempt> quickly_fitted_slope(Line& line, const std::vector<double>& weights,
                                            double h, Format format = Format::f64);
/// The same for every output by itself; none beyond the line's reach.
std::vector<Attempt> fitted_slopes_of_outputs(Line& line, double h, Format format);

}  // namespace tapestry::checker
