// Difference quotients of <weights, f> along a line: from both sides, from one, and how much
// rounding may have moved them. Internal to autograd/check. Read next: extrapolate.h, which makes
// one slope of three quotients.
#pragma once

#include <tapestry/autograd/check/curve.h>
#include <tapestry/autograd/check/extrapolate.h>

#include <limits>
#include <optional>

namespace tapestry::checker {

/// Up to so many times its uncertainty a number is nothing but rounding.
inline constexpr double kRounding = 32;
inline constexpr double kEps = std::numeric_limits<double>::epsilon();

class Quotients {
public:
    /// `weights` has one number per output of f. All arguments must outlive it.
    Quotients(Line& line, const std::vector<double>& weights, const Neighbourhood& around)
        : line_(line), w_(weights), around_(around) {}

    const std::vector<double>& weights() const { return w_; }
    const Neighbourhood& around() const { return around_; }
    double scale() const { return line_.scale(); }

    /// <weights, f(t)>
    double value_at(double t) { return weighted(w_, line_.at(t).values); }
    bool is_finite_here() const { return finite(w_, around_.base); }
    bool takes_own_branches(double t) { return line_.at(t).branch == around_.base.branch; }

    /// From f(t) - f(-t) for t = h, h/2, h/4.
    Attempt central(double h);

    /// The slope to one side (+1 or -1), from steps that all take the same branches; the sharpest
    /// of several sizes, nothing if none settled.
    std::optional<Attempt> one_sided(double side);

    /// How uncertain an evaluation at x is.
    double noise_here() const { return noise(around_.base, around_.base); }
    /// Every evaluation is at least this uncertain.
    void set_least_noise(double noise) { least_noise_ = noise; }

    /// Where x is on a bound, or next to one: the side that is left, +1 or -1; else 0.
    double only_side() const { return line_.only_side(); }

    /// Has a step of central() taken other branches than x?
    bool met_kink() const { return met_kink_; }

    /// Is there a kink that no op told of: a bend that is as sharp seen from closer by? (A curve
    /// straightens.) `slope` and `scale` say which bends matter.
    bool is_corner(double slope, double scale);
    /// Of a corner: is x next to it, on one side, as can be seen from very close?
    bool is_beside_corner(double slope, double scale);

    /// Does f not move at all, from the smallest steps to some hundredth of x?
    bool is_constant_here();
    /// Nor where all inputs are numbers of about the same sizes?
    bool is_constant_elsewhere() const;

    /// |D(h) - slope| and what rounding explains of it, for steps from large to small.
    std::vector<CurvePoint> curve(double slope);

private:
    double bend(int power, double slope, double scale);
    std::optional<Attempt> one_sided_step(double side, double h);
    double noise(const Sample& above, const Sample& below) const;
    bool moves(const Sample& above, const Sample& below) const;

    Line& line_;
    const std::vector<double>& w_;
    const Neighbourhood& around_;
    double least_noise_ = 0;
    bool met_kink_ = false;
};

}  // namespace tapestry::checker
