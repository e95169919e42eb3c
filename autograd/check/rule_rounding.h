// Rounding inside of a backward rule that computes in f32, as 1 - y^2 of a y near 1 has it: the
// last bits of the incoming gradient do not show it, and neither do those of x, which y hides. It
// shows where x moves: the rule follows f's slope smoothly, and its rounding does not. (More and
// Wild 2011 find the noise of a function in this way.) Internal to autograd/check.
#pragma once

#include <tapestry/autograd/check/subject.h>

#include <cstdint>
#include <vector>

namespace tapestry::checker {

/// [weights][leaf][element]
using RuleGradients = std::vector<std::vector<std::vector<double>>>;

/// Samples of the rounding errors that the gradients for `weights` have; none if f or a
/// gradient is not defined near x, or if there are too many numbers to keep several times.
/// `values`: those of f.
std::vector<RuleGradients> rounding_inside(Subject& subject,
                                           const std::vector<std::vector<double>>& weights,
                                           const std::vector<double>& values, std::uint64_t seed);

/// Whether a rule computes in f32: no other leaves only its numbers, for `weights` that are not
/// (`between`). If f has one output, its rule may multiply by the weight in f64: then its numbers
/// for a weight of 1 count (`here`), if half of x still gives such numbers; likewise if all are 0.
bool computes_in_f32(Subject& subject, const std::vector<std::vector<double>>& here,
                     const std::vector<double>& weights,
                     const std::vector<std::vector<double>>& between);

}  // namespace tapestry::checker
