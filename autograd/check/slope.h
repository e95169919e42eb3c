// A claimed slope against central differences whose error is known: nothing here is a tolerance
// that somebody chose.
//
//     D(h) = (f(h) - f(-h)) / 2h = f'(0) + c h^2 + c' h^4 + ... +- noise / h
//
// Three steps h, h/2, h/4 are extrapolated (Richardson), which takes the powers of h away one after
// the other; how much that still moved the value is what truncation may amount to. `noise` is
// measured: how much f changes when its inputs change in their last bits. Both together are the
// error of the estimate, and the claim is right if it lies within it. docs/gradient-checking.md
// derives this.
//
// Sources: Richardson 1911; Ridders 1982, "Accurate computation of F'(x) and F'(x)F''(x)"; More and
// Wild 2011, "Estimating computational noise".
//
// Internal to autograd/check. Read next: quotients.h, which takes the steps; evidence.h, which
// says what they amount to.
#pragma once

#include <tapestry/autograd/check/line.h>
#include <tapestry/autograd/check/verdict.h>

#include <functional>

namespace tapestry::checker {

/// The slope of <weights, f> that is to be believed.
struct Claim {
    double slope = 0;
    double uncertainty = 0;  ///< by how much it changes with the last bits of the inputs
    double scale = 0;        ///< the size of slopes beside which an error would matter
    double noise = 0;        ///< by how much values of <weights, f> may be off, as declared
    double share = 0;        ///< along a direction: what an entry of the usual size contributes
    bool vanishes = false;   ///< all slopes of that kind are 0, but for rounding
    bool evened = false;     ///< every output has about the same weight times its size
};

/// How far f moves its values by rounding that its inputs' last bits do not show (noise.h).
/// `closely`: a small difference is to be explained, which a jump here and there may do.
using HiddenNoise = std::function<double(bool closely)>;

/// Throws nothing that f does not throw. `weights` has one number per output of f. `one_number`:
/// the line moves one input alone. On a kink a gradient is then between the slopes to both sides;
/// where several inputs move, each may be on a kink of its own, and nothing can be said. `hidden`
/// is asked before a claim is called wrong or undecided.
Judgement check_slope(Line& line, const std::vector<double>& weights, const Neighbourhood& around,
                      const Claim& claim, const GradcheckLimits& limits, bool one_number = true,
                      const HiddenNoise& hidden = {});

}  // namespace tapestry::checker
