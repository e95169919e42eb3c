// A wrong gradient usually looks like the right one after some transformation. Which one?
//
// The right gradient is known numerically. Every common mistake is applied to it, and the result is
// compared with the claimed gradient. Internal to autograd/check. Read next: mistake_patterns.h,
// the common mistakes.
#pragma once

#include <tapestry/autograd/check/subject.h>
#include <tapestry/autograd/check/verdict.h>
#include <tapestry/core/shape.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace tapestry::checker {

class ClaimedJacobian;

/// Everything known about the gradient of one operand.
struct Symptoms {
    Shape shape = {};                      ///< of the operand
    std::vector<double> claimed = {};      ///< for `cotangent`; every element
    std::vector<std::size_t> places = {};  ///< elements whose right gradient is known
    /// slopes[p][i]: the derivative of output element i with respect to element places[p].
    std::vector<std::vector<double>> slopes = {};

    Shape output = {};  ///< shape of the only output, to which the rest refers
    std::vector<double> cotangent = {};
    std::vector<double> value = {};  ///< of the output; empty if unknown
    std::vector<double> point = {};  ///< of the operand; empty if unknown
    /// How far the right gradient may be off, at `places`; empty: by rounding.
    std::vector<double> doubts = {};
    /// The same for each number of `slopes`; empty if there are many outputs.
    std::vector<std::vector<double>> slope_doubts = {};
    /// The part of the right gradient that its function's format leaves uncertain.
    double blur = 0;

    /// Another cotangent that was passed to the rule, and its claim for that; empty if unknown.
    std::vector<double> other_cotangent = {};
    std::vector<double> other_claimed = {};
    /// The right gradients of the op's other operands of the same shape, at `places`.
    std::vector<std::pair<std::size_t, std::vector<double>>> others = {};
    bool used_twice = false;  ///< the op takes the same value as another operand as well

    /// The claimed gradient for any cotangent; empty if the rule cannot be asked again.
    std::function<std::vector<double>(const std::vector<double>& cotangent)> rule = {};
    /// What it claims for each single output, once asked.
    mutable std::shared_ptr<const ClaimedJacobian> jacobian = {};
};

/// The right gradient at `places`.
std::vector<double> numeric_gradient(const Symptoms& symptoms);

/// The transformation of the right gradient that the claim looks like.
Cause find_cause(const Symptoms& symptoms);

// ---- the right gradient -------------------------------------------------------------------------
// The effect of moving single elements of an input: a wrong gradient is compared with it to name
// the mistake.

/// Elements at which slopes are measured, for an input of n: all of them up to 256; otherwise both
/// ends, some in between, and `of_interest` with its neighbours. Fewer if each is slow or needs
/// much memory.
std::vector<std::size_t> chosen_places(std::size_t n, std::size_t outputs, std::size_t of_interest);

/// Fills in symptoms.slopes at symptoms.places for leaf `which`, value, point, doubts and blur.
/// Places where they are not known are dropped: f is not finite at the steps next to them.
/// `format`: of f's numbers.
void measure_slopes(Subject& subject, std::size_t which, Format format, Symptoms& symptoms);

}  // namespace tapestry::checker
