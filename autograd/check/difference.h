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
#pragma once

#include <tapestry/autograd/check/verdict.h>

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

namespace tapestry {

/// The outputs of a function at one point, and which branches it took there.
struct Sample {
    std::vector<double> values = {};
    std::uint64_t branch = 0;
};

/// A function along a line x + t u. Every t is computed once.
class Line {
public:
    using Function = std::function<Sample(double t)>;

    /// At t = `scale`, x has changed by about its own size.
    Line(Function f, double scale) : f_(std::move(f)), scale_(scale) {}

    const Sample& at(double t);
    double scale() const { return scale_; }

private:
    Function f_;
    double scale_;
    std::map<double, Sample> known_;
};

/// What is known around x before any step is taken.
struct Surroundings {
    Sample base = {};
    /// The outputs where every input is changed in its last bits, at random.
    std::vector<std::vector<double>> shaken = {};
    /// The outputs where all inputs are other numbers of the same sizes: what the function is worth
    /// elsewhere. Where it has died away (e^-x far out), it is small here, but rounds as it does
    /// there.
    std::vector<std::vector<double>> elsewhere = {};
};

/// The slope of <weights, f> that is to be believed.
struct Claim {
    double slope = 0;
    double uncertainty = 0;  ///< by how much it changes with the last bits of the inputs
    double scale = 0;        ///< the size of slopes beside which an error would matter
    bool vanishes = false;   ///< all slopes of that kind are 0, but for rounding
};

struct Limits {
    /// Errors below this part of the claim's scale may pass unseen; where larger ones would, the
    /// verdict is inconclusive.
    double resolution = 1e-6;
    /// By how much an error may exceed what was estimated.
    double safety = 6;
    /// The part of the scale by which an exact oracle may differ: it rounds inside, too, and that
    /// cannot be seen from outside.
    double exact = 1e-10;
};

struct Judgement {
    Verdict verdict = Verdict::pass;
    Reason reason = Reason::none;
    bool subgradient = false;  ///< x is on a kink, and the claim lies between the two slopes
    double numeric = 0;        ///< the estimated slope; on a kink the nearer of the two
    double error = 0;          ///< estimated, of `numeric`
    double tolerance = 0;      ///< what |claim - numeric| may be
    double step = 0;           ///< the largest h that went into `numeric`
    double above = 0;          ///< <weights, f(step)>
    double below = 0;          ///< <weights, f(-step)>
};

/// Throws nothing that f does not throw. `weights` has one number per output of f. `one_number`:
/// the line moves one input alone. On a kink a gradient is then between the slopes to both sides;
/// where several inputs move, each may be on a kink of its own, and nothing can be said.
Judgement judge(Line& line, const std::vector<double>& weights, const Surroundings& around,
                const Claim& claim, const Limits& limits, bool one_number = true);

/// For a picture: |D(h) - claim| and the error expected of D(h), for steps from large to small.
struct CurvePoint {
    double step;
    double difference;
    double noise;  ///< the part of it that rounding may explain
};
std::vector<CurvePoint> error_curve(Line& line, const std::vector<double>& weights,
                                    const Surroundings& around, const Claim& claim);

}  // namespace tapestry
