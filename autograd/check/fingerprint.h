// A wrong gradient usually looks like the right one with something done to it. What was done?
//
// The right gradient is known numerically. Everything that commonly goes wrong is done to it, and
// what comes out is compared with the gradient that was claimed.
#pragma once

#include <tapestry/core/shape.h>

#include <cstddef>
#include <string>
#include <vector>

namespace tapestry {

enum class Mistake {
    unknown,
    not_finite,    ///< infinite or NaN
    zero,          ///< nothing arrives
    dropped,       ///< a value used twice by one op: one of its uses gives nothing
    sign,          ///< times -1
    factor,        ///< times a constant
    permuted,      ///< axes exchanged
    missing_sum,   ///< a broadcast operand's gradient taken from one place, not summed over all
    doubled_sum,   ///< the same summed once too often
    shifted,       ///< off by one element
    stale,         ///< another operand's, or an earlier call's
    chain,         ///< the op's own factor missing, or there twice
    detached,      ///< a way from input to output that the tape does not see
    missing_term,  ///< a mean or sum along an axis is not subtracted
    partial,       ///< right but for some elements
};

std::string_view to_string(Mistake mistake);

struct Cause {
    Mistake mistake = Mistake::unknown;
    std::string evidence = {};  ///< "claimed = 0.5 * numeric, to 3e-10 of it; 1/2 = 1/sqrt(4)"
    std::string hint = {};      ///< what to look at, in words
};

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

}  // namespace tapestry
