// A wrong gradient usually looks like the right one with something done to it. What was done?
//
// The right gradient is known numerically. Everything that commonly goes wrong is done to it, and
// what comes out is compared with the gradient that was claimed. Internal to autograd/check. Read
// next: mistake_patterns.h, what commonly goes wrong.
#pragma once

#include <tapestry/autograd/check/cause.h>
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

Cause find_cause(const Symptoms& symptoms);

}  // namespace tapestry::checker
