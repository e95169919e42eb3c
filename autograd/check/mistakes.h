// A wrong gradient usually looks like the right one with something done to it. What was done?
//
// The right gradient is known numerically. Everything that commonly goes wrong is done to it, and
// what comes out is compared with the gradient that was claimed. Internal to autograd/check. Read
// next: mistake_patterns.h, what commonly goes wrong.
#pragma once

#include <tapestry/autograd/check/subject.h>
#include <tapestry/autograd/check/verdict.h>
#include <tapestry/core/shape.h>

#include <cstddef>
#include <utility>
#include <vector>

namespace tapestry::checker {

/// All that is known about the gradient of one operand.
struct Symptoms {
    Shape shape = {};                      ///< of the operand
    std::vector<double> claimed = {};      ///< for `cotangent`; every element
    std::vector<std::size_t> places = {};  ///< elements at which the truth is known
    /// slopes[p][i]: by how much output element i changes with element places[p].
    std::vector<std::vector<double>> slopes = {};

    Shape output = {};  ///< shape of the only output, for which the rest is known
    std::vector<double> cotangent = {};
    std::vector<double> value = {};  ///< of the output; empty if unknown

    /// Another cotangent that the rule was given, and what it claimed then; empty if unknown.
    std::vector<double> other_cotangent = {};
    std::vector<double> other_claimed = {};
    /// The right gradients of the op's other operands of the same shape, at `places`.
    std::vector<std::pair<std::size_t, std::vector<double>>> others = {};
    bool used_twice = false;  ///< the op takes the same value as another operand, too
};

/// The right gradient at `places`.
std::vector<double> numeric_gradient(const Symptoms& symptoms);

/// What was done to the right gradient, if what was claimed looks like it.
Cause find_cause(const Symptoms& symptoms);

// ---- the truth ----------------------------------------------------------------------------------
// What the function does when elements of one input move, each by itself: a wrong gradient is
// compared with that, to say what was done to it.

/// Elements of an input of n at which slopes are measured: all of up to 256; else both ends, some
/// in between, and `of_interest` with its neighbours. Fewer where each takes long or fills memory.
std::vector<std::size_t> chosen_places(std::size_t n, std::size_t outputs, std::size_t of_interest);

/// Fills in symptoms.slopes at symptoms.places, for leaf `which`, and symptoms.value.
void measure_slopes(Subject& subject, std::size_t which, Symptoms& symptoms);

}  // namespace tapestry::checker
